"""Context-aware privacy: some values need more protection than others."""

from hearsay.mechanisms.tables import Form

MECHANISMS = {
    "binary": (Form(("binary", "categorical", "ordinal"), "binary:Binary"),),
    "block-hr": (Form(("categorical",), "block_hr:BlockHadamardResponse"),),
    "highlow-hr": (Form(("categorical",), "highlow_hr:HighLowHadamardResponse"),),
    "channel": (Form(("categorical", "ordinal", "binary", "grid", "count"), "channel:Channel"),),
}
