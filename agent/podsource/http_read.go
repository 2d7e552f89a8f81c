package podsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// read requests the manifest and delivers its pods, if it changed.
func (h *HTTP) read(ctx context.Context, cause trace.SourceCause, set func(Set)) error {
	event := trace.Source{Source: SourceHTTP, Op: trace.OpSet, Cause: cause, Path: h.shown}
	answer, err := h.get(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.report([]Problem{{Path: h.shown, Message: err.Error()}})
		}
		return err
	}
	if answer == nil || (h.delivered && string(answer.body) == h.sum) {
		h.report(h.wrong)
		return nil
	}
	h.sum, h.etag, h.modified = string(answer.body), answer.etag, answer.modified
	h.apply(answer.body)
	event.Pods = len(h.pods)
	span := trace.Begin(h.cfg.Bus, trace.Span{}, event)
	h.delivered = true
	set(h.set(span))
	trace.End(h.cfg.Bus, span, event)
	return nil
}

type answer struct {
	body           []byte
	etag, modified string
}

// get returns the server's response, nil if it has not changed.
func (h *HTTP) get(ctx context.Context) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.cfg.URL, nil)
	if err != nil {
		return nil, redact.URLError(err)
	}
	if h.cfg.Header != nil {
		req.Header = h.cfg.Header.Clone()
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if h.delivered && h.etag != "" {
		req.Header.Set("If-None-Match", h.etag)
	}
	if h.delivered && h.modified != "" {
		req.Header.Set("If-Modified-Since", h.modified)
	}
	resp, err := h.cfg.Client.Do(req)
	if err != nil {
		return nil, redact.URLError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotModified && h.delivered:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, errors.New("the server responds " + resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response: %w", err)
	case len(body) > maxManifest:
		return nil, fmt.Errorf("the response is longer than %d bytes", maxManifest)
	}
	return &answer{body: body, etag: resp.Header.Get("ETag"), modified: resp.Header.Get("Last-Modified")}, nil
}
