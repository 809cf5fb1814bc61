"""How often intervals hold at the edges: few reports, small and large domains, spiky data, small and large epsilon."""
