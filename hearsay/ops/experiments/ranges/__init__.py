"""The experiments of Kulkarni, chapter 5: ranges and quantiles."""
