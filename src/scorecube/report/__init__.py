"""What people look at: tables, figures, one self-contained page."""
