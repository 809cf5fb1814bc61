"""False senders: how far they move answers, against the bound that `survey show --attackers` states."""
