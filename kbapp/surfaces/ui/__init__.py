"""The Streamlit app: opening the knowledge base, and values on the screen."""
