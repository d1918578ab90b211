"""The judges: properties of each kata, what they share, and the tool behind them."""
