package stack

import (
	"encoding/json"
	"fmt"
	"testing"
)

// inJaeger reads the starts of pods back from Jaeger, if it is there, and has the program draw the first.
func (b *bench) inJaeger(t *testing.T, got *received, pods []string) {
	t.Helper()
	if b.jaeger == "" {
		return
	}
	for i, pod := range pods {
		id := got.pods[pod]
		text := b.fetch(t, id, got.traces[id])
		if i == 0 {
			b.drawn(t, text, id, pod)
		}
	}
	t.Logf("Jaeger has the starts of %v", pods)
}

// fetch gets a trace from Jaeger's API, once it has the spans that the Collector has.
func (b *bench) fetch(t *testing.T, id string, want []span) (text string) {
	t.Helper()
	eventually(t, "trace "+id+" in Jaeger", func() string {
		out, err := get(t.Context(), "http://"+b.jaeger+"/api/traces/"+id)
		if err != nil {
			return err.Error()
		}
		text = string(out)
		var answer struct {
			Data []struct {
				Spans []struct {
					ID string `json:"spanID"`
				}
			}
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return err.Error()
		}
		ids := map[string]bool{}
		for _, d := range answer.Data {
			for _, s := range d.Spans {
				ids[s.ID] = true
			}
		}
		for i := range want {
			if !ids[want[i].ID] {
				return fmt.Sprintf("no span %q among %d", want[i].Name, len(ids))
			}
		}
		return ""
	})
	return text
}
