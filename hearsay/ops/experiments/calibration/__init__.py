"""Coverage of intervals in extreme cases: few reports, small and large domains, spiky data, small and large epsilon."""
