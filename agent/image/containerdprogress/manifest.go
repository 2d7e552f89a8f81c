package containerdprogress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/containerd/containerd/api/services/content/v1"
)

const (
	// sourceLabel, with a registry's host, lists the repositories that a blob came from.
	sourceLabel = "containerd.io/distribution.source."
	// layerLabel, with a number, is the label for a layer of a manifest.
	layerLabel = "containerd.io/gc.ref.content.l."
	// maxManifest limits the size of a manifest, in bytes.
	maxManifest = 4 << 20
)

// findManifest returns the digest of the manifest of this repository most of whose layers are being written, "" if
// there is none or it is not certain.
func (p *pull) findManifest(ctx context.Context, active map[string]int64) (string, error) {
	taken, ok := p.board.taken(p)
	if !ok {
		return "", nil
	}
	label := sourceLabel + p.host
	list, err := p.content.List(ctx, &content.ListContentRequest{Filters: []string{fmt.Sprintf("labels.%q", label)}})
	if err != nil {
		return "", err
	}
	found, most := "", 0
	for {
		resp, err := list.Recv()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return "", err
		}
		for _, info := range resp.Info {
			if taken[info.Digest] || !slices.Contains(strings.Split(info.Labels[label], ","), p.repo) {
				continue
			}
			switch n := writing(info.Labels, active); {
			case n > most:
				found, most = info.Digest, n
			case n == most:
				found = ""
			}
		}
	}
}

// writing counts the layers among a manifest's labels that are being written.
func writing(labels map[string]string, active map[string]int64) int {
	n := 0
	for k, digest := range labels {
		if _, ok := active[digest]; ok && strings.HasPrefix(k, layerLabel) {
			n++
		}
	}
	return n
}

// readManifest stores the blobs that this pull must fetch.
func (p *pull) readManifest(ctx context.Context, digest string, active map[string]int64) error {
	raw, err := p.read(ctx, digest)
	if err != nil {
		return err
	}
	type descriptor struct {
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	}
	var m struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("manifest %s: %w", digest, err)
	}

	blobs, total := []*blob{}, int64(0)
	seen := map[string]bool{}
	for _, d := range append(m.Layers, m.Config) {
		if seen[d.Digest] || d.Size <= 0 {
			continue
		}
		seen[d.Digest] = true
		b := &blob{digest: d.Digest, size: d.Size}
		if _, ok := active[d.Digest]; !ok {
			at, err := p.committed(ctx, d.Digest)
			if err != nil {
				return err
			}
			if !at.IsZero() && at.Before(p.began) {
				continue
			}
			b.complete = !at.IsZero()
		}
		blobs = append(blobs, b)
		total += d.Size
	}
	p.blobs, p.total = blobs, total
	return nil
}

func (p *pull) read(ctx context.Context, digest string) ([]byte, error) {
	stream, err := p.content.Read(ctx, &content.ReadContentRequest{Digest: digest})
	if err != nil {
		return nil, err
	}
	var raw []byte
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return raw, nil
		}
		if err != nil {
			return nil, err
		}
		if raw = append(raw, resp.Data...); len(raw) > maxManifest {
			return nil, fmt.Errorf("manifest %s is larger than %d bytes", digest, maxManifest)
		}
	}
}
