"""The console: pages made on the server, from what the API answers from, for people."""
