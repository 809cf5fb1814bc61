"""The experiments of Xiang, Ding, He and Zhou on metric privacy."""
