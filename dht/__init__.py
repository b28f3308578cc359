"""Who is responsible for a key, how to reach them, who is alive."""
