"""The human, built of joint components from published numbers."""
