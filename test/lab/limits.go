package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits says how slow the registry is. The zero value is as fast as can be.
type Limits struct {
	// Rate is in bytes a second, shared by all downloads; 0 is without limit.
	Rate int64
	// Latency is added before each answer, in whole milliseconds.
	Latency time.Duration
}

// SetLimits makes the registry slow, at once and also for pulls under way.
func (l *Lab) SetLimits(ctx context.Context, limits Limits) error {
	body, err := json.Marshal(map[string]int64{"rate": limits.Rate, "latencyMs": limits.Latency.Milliseconds()})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+l.Registry+"/lab/limits", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("limit the registry: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("limit the registry: %s: %s", resp.Status, bytes.TrimSpace(why))
	}
	return nil
}

// registryReady reports whether the registry answers.
func registryReady(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v2/", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
