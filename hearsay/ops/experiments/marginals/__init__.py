"""`hearsay experiment marginals`: Kulkarni's chapter 4 on marginals, reproduced, corrected and improved on."""
