"""The mistakes of the catalogue once more, as other people would write them."""
