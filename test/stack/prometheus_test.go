package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// maxAnswer is how long an answer may be, in bytes.
const maxAnswer = 16 << 20

func get(ctx context.Context, from string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.500s", from, resp.Status, text)
	}
	return text, err
}

// ask asks Prometheus' API, and returns the error as a text.
func (b *bench) ask(t *testing.T, path string, values url.Values, into any) string {
	t.Helper()
	text, err := get(t.Context(), "http://"+b.prometheus+"/api/v1/"+path+"?"+values.Encode())
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// up waits until Prometheus scrapes a target of a job.
func (b *bench) up(t *testing.T, job string) {
	t.Helper()
	eventually(t, "targets of "+job, func() string {
		var r struct {
			Data struct {
				ActiveTargets []struct{ ScrapePool, ScrapeURL, Health, LastError string }
			}
		}
		if wrong := b.ask(t, "targets", url.Values{"state": {"active"}}, &r); wrong != "" {
			return wrong
		}
		for _, a := range r.Data.ActiveTargets {
			if a.ScrapePool == job && a.Health == "up" {
				t.Logf("Prometheus scrapes %s for %s", a.ScrapeURL, job)
				return ""
			}
		}
		return fmt.Sprintf("none is up among %+v", r.Data.ActiveTargets)
	})
}

// rules waits until Prometheus has computed each of our alerts. None may fire.
func (b *bench) rules(t *testing.T) {
	t.Helper()
	n := 0
	var firing []string
	eventually(t, "rules", func() string {
		var r struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Type, State, Health, LastError string }
				}
			}
		}
		if wrong := b.ask(t, "rules", nil, &r); wrong != "" {
			return wrong
		}
		n, firing = 0, nil
		for _, g := range r.Data.Groups {
			for _, rule := range g.Rules {
				if rule.Health != "ok" {
					return fmt.Sprintf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
				if rule.State == "firing" {
					firing = append(firing, rule.Name)
				}
				n++
			}
		}
		if n == 0 {
			return "there are none"
		}
		return ""
	})
	t.Logf("Prometheus computes %d rules", n)
	if len(firing) > 0 {
		t.Errorf("alerts fire: %v", firing)
	}
}
