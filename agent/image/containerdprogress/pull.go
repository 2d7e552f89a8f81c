package containerdprogress

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/content/v1"
	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pull is the state of one followed pull.
type pull struct {
	content    content.ContentClient
	board      *board
	host, repo string
	began      time.Time

	blobs []*blob // nil until the manifest is found
	// done and total are in bytes.
	done, total int64
}

// blob is one blob of the image that this pull must fetch.
type blob struct {
	digest   string
	size     int64
	complete bool
	at       int64 // bytes written when last observed
}

func newPull(c content.ContentClient, b *board, ref string, began time.Time) (*pull, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return nil, fmt.Errorf("parse image name %q: %w", ref, err)
	}
	host, _, _ := strings.Cut(reference.Domain(named), ":") // the label has no port
	return &pull{content: c, board: b, host: host, repo: reference.Path(named), began: began}, nil
}

// look updates done and total; false if nothing is known yet.
func (p *pull) look(ctx context.Context) (bool, error) {
	active, err := p.active(ctx)
	if err != nil {
		return false, err
	}
	if p.blobs == nil {
		if len(active) == 0 {
			return false, nil
		}
		found, err := p.findManifest(ctx, active)
		if err != nil || found == "" {
			return false, err
		}
		if err := p.readManifest(ctx, found, active); err != nil {
			return false, err
		}
		p.board.claim(p, found)
	}
	done := int64(0)
	for _, b := range p.blobs {
		offset, writing := active[b.digest]
		if !b.complete && !writing {
			at, err := p.committed(ctx, b.digest)
			if err != nil {
				return false, err
			}
			b.complete = !at.IsZero()
		}
		if writing {
			b.at = min(offset, b.size)
		}
		if b.complete {
			b.at = b.size
		}
		done += b.at // also during containerd's commit, when it is in neither list
	}
	p.done = done
	return true, nil
}

// active returns the offsets of the blobs being written, by digest.
func (p *pull) active(ctx context.Context) (map[string]int64, error) {
	resp, err := p.content.ListStatuses(ctx, &content.ListStatusesRequest{})
	if err != nil {
		return nil, err
	}
	active := make(map[string]int64, len(resp.Statuses))
	for _, s := range resp.Statuses {
		active[digestOf(s.Ref)] = s.Offset
	}
	return active, nil
}

// digestOf returns the digest from the name of an ingest, for example layer-sha256:... or layer-name@sha256:...
func digestOf(ref string) string {
	return ref[strings.LastIndexAny(ref, "-@")+1:]
}

// committed returns when a blob was committed, zero if it does not exist.
func (p *pull) committed(ctx context.Context, digest string) (time.Time, error) {
	resp, err := p.content.Info(ctx, &content.InfoRequest{Digest: digest})
	switch {
	case status.Code(err) == codes.NotFound:
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	return resp.GetInfo().GetCreatedAt().AsTime(), nil
}
