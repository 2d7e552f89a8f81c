package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestSameHealth(t *testing.T) {
	c := func(status v1.VolumeHealthStatusType, reason, message string) v1.VolumeHealthCondition {
		return v1.VolumeHealthCondition{Status: status, Reason: reason, Message: message}
	}
	type list = []v1.VolumeHealthCondition
	a, b := c(v1.VolumeHealthDegraded, "A", "1"), c(v1.VolumeHealthDegraded, "B", "")
	for _, tc := range []struct {
		name string
		a, b list
		want bool
	}{
		{"none", nil, list{}, true},
		{"message", list{a}, list{c(v1.VolumeHealthDegraded, "A", "2")}, true},
		{"order", list{a, b}, list{b, a}, true},
		{"twice", list{a, a}, list{a}, true},
		{"reason", list{a}, list{b}, false},
		{"status", list{a}, list{c(v1.VolumeHealthInaccessible, "A", "1")}, false},
		{"one more", list{a}, list{a, b}, false},
		{"one less", list{a}, nil, false},
	} {
		if got := SameHealth(tc.a, tc.b); got != tc.want || SameHealth(tc.b, tc.a) != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestSetVolumeHealth(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		slow := func(reason, message string) v1.VolumeHealthCondition {
			return v1.VolumeHealthCondition{Status: v1.VolumeHealthDegraded, Reason: reason, Message: message}
		}
		health := func() string {
			var out []string
			for _, h := range b.now("a").Status.VolumeHealth {
				text := h.Name + "@" + h.LastTransitionTime.UTC().Format("15:04:05")
				for _, c := range h.HealthConditions {
					text += " " + string(c.Status) + "/" + c.Reason + "/" + c.Message
				}
				out = append(out, text)
			}
			return strings.Join(out, "; ")
		}
		p := b.pod("a")
		b.SetVolumeHealth(ctx, p.UID, "data", []v1.VolumeHealthCondition{slow("A", "")})
		expect(t, "no status yet", b.calls())
		b.Set(ctx, p, run())
		expect(t, "running", b.calls(), "patch a")
		b.SetVolumeHealth(ctx, p.UID, "data", nil)
		expect(t, "healthy from the start", b.calls())

		began := time.Now().UTC()
		at := func(d time.Duration) string { return began.Add(d).Format("15:04:05") }
		// Two conditions have the same status: a patch must not merge them.
		b.SetVolumeHealth(ctx, p.UID, "data", []v1.VolumeHealthCondition{slow("A", "1"), slow("B", "1")})
		expect(t, "unhealthy", b.calls(), "patch a")
		first := "data@" + at(0) + " Degraded/A/1 Degraded/B/1"
		if got := health(); got != first {
			t.Errorf("the API has %s, want %s", got, first)
		}
		time.Sleep(time.Minute)
		b.SetVolumeHealth(ctx, p.UID, "data", []v1.VolumeHealthCondition{slow("B", "2"), slow("A", "2")})
		expect(t, "only messages changed", b.calls())
		s := run()
		s.Message = "x"
		b.Set(ctx, p, s)
		expect(t, "another change", b.calls(), "patch a")
		b.Observe(ctx, p.UID, b.now("a"))
		expect(t, "the API has what it should have", b.calls())
		if got := health(); got != first {
			t.Errorf("after another change, the API has %s", got)
		}

		changed := began.Add(0)
		b.SetVolumeHealth(ctx, p.UID, "data", []v1.VolumeHealthCondition{slow("A", "3")})
		b.SetVolumeHealth(ctx, p.UID, "logs", []v1.VolumeHealthCondition{slow("C", "")})
		time.Sleep(time.Second)
		b.api.took()
		now := b.now("a").Status.VolumeHealth
		if len(now) != 2 || now[0].Name != "data" || len(now[0].HealthConditions) != 1 || !now[0].LastTransitionTime.After(changed.Add(50*time.Second)) || now[1].Name != "logs" {
			t.Errorf("the API has %s", health())
		}
		b.SetVolumeHealth(ctx, p.UID, "data", nil)
		expect(t, "healthy", b.calls(), "patch a")
		if now := b.now("a").Status.VolumeHealth; len(now) != 2 || len(now[0].HealthConditions) != 0 || len(now[1].HealthConditions) != 1 {
			t.Errorf("the API has %s", health())
		}
		if status, _ := b.Status(p.UID); len(status.VolumeHealth) != 2 {
			t.Errorf("status: %+v", status.VolumeHealth)
		}

		b.Gone(ctx, b.now("a"))
		b.calls()
		b.SetVolumeHealth(ctx, p.UID, "data", []v1.VolumeHealthCondition{slow("A", "")})
		b.SetVolumeHealth(ctx, "unknown", "data", []v1.VolumeHealthCondition{slow("A", "")})
		expect(t, "nothing is left of it", b.calls())
	})
}

// What an earlier agent wrote stays, and is changed only by another report.
func TestVolumeHealthOfAnEarlierAgent(t *testing.T) {
	had := []v1.PodVolumeHealth{{Name: "data", HealthConditions: []v1.VolumeHealthCondition{{Status: v1.VolumeHealthDegraded, Reason: "A"}}}}
	running(t, nil, func(b *bench) {
		ctx, p := b.t.Context(), b.pod("a", func(p *v1.Pod) { p.Status.VolumeHealth = had })
		b.Set(ctx, p, run())
		b.calls()
		b.SetVolumeHealth(ctx, p.UID, "data", had[0].HealthConditions)
		expect(t, "the same", b.calls())
		if diff := cmp.Diff(had, b.now("a").Status.VolumeHealth); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
