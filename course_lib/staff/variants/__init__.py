"""Questions with numbers of each student's own, for what they hand in: sheets, and what the answers are worth."""
