"""What every room may use and that knows no room."""
