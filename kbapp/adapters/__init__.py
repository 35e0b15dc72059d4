"""What the outside world does, one library per module: files, Milvus, SQLite, embedders."""
