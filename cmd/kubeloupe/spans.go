package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/ship"
)

// exporting says where spans are sent, and which of the ordinary ones.
type exporting struct {
	endpoint   string // empty: nothing is sent
	address    string // that of endpoint, where that is a URL
	secure     ship.Secure
	perMillion int32
	explained  func(ship.Start) // may be nil
}

// export makes what sends spans and explains starts. It connects later.
func (b *beside) export(ctx context.Context, e exporting, node string) error {
	cfg := ship.Config{Bus: b.bus, Node: node, Version: versionText(), Endpoint: e.endpoint, PerMillion: e.perMillion, Explained: e.explained}
	if e.endpoint != "" {
		client, err := ship.Dial(ctx, cmp.Or(e.address, e.endpoint), e.secure)
		if err != nil {
			return err
		}
		b.client, cfg.Uploader = client, client
	}
	b.ship = ship.New(cfg)
	return nil
}

// perMillion is the fraction of --sampling, of a million.
func perMillion(fraction float64) (int32, error) {
	if !(fraction >= 0 && fraction <= 1) { // NaN is neither
		return 0, fmt.Errorf("--sampling %v: must be 0 to 1", fraction)
	}
	return int32(fraction * 1e6), nil
}
