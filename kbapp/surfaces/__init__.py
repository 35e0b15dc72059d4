"""How people and programs reach the application: terminal, agents, browser."""
