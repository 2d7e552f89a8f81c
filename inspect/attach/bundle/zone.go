package bundle

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

const (
	// maxAnchors bounds the things that two logs tell of the same, that are compared.
	maxAnchors = 1 << 14
	// maxLook is how many entries of each log are looked at for them.
	maxLook = 500_000
	quarter = 15 * time.Minute
)

// lineTime is the time of a runtime's line.
func lineTime(line string) (int64, bool) {
	l, ok := containerdlog.ParseLine(line)
	return l.Time.UnixNano(), ok
}

// zoneOf finds out the zone of kubelets whose logs tell none, by what a runtime's log, which does tell it, has of the same: a container's
// start, which the kubelet finds within seconds. nil where nothing says so, or not all say the same.
func (s *Source) zoneOf(chains [][]file) *time.Location {
	if len(chains) < 2 {
		return nil
	}
	ran := map[string]int64{}
	found := map[string]int64{} // by a kubelet, as if its zone were UTC
	for _, files := range chains {
		for _, f := range files {
			anchors(f, ran, found)
		}
	}
	var offs []time.Duration
	for id, at := range found {
		if began, both := ran[id]; both {
			offs = append(offs, time.Duration(at-began))
		}
	}
	if len(offs) == 0 {
		return nil
	}
	slices.Sort(offs)
	off := offs[len(offs)/2].Round(quarter)
	for _, o := range offs {
		if o.Round(quarter) != off {
			return nil
		}
	}
	if off.Abs() > 14*time.Hour {
		return nil
	}
	s.told.Zone, s.told.Same = &off, len(offs)
	return time.FixedZone("UTC"+hours(off), int(off.Seconds()))
}

func hours(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text, _ := json.Marshal(math.Round(d.Hours()*100) / 100)
	if d > 0 {
		return "+" + string(text)
	}
	return string(text)
}

// anchors takes in when each log of a file says that containers and sandboxes ran.
func anchors(f file, ran, found map[string]int64) {
	r, err := f.open()
	if err != nil {
		return
	}
	defer r.Close() //nolint:errcheck // it was only read
	log, err := logfile.NewReader(r, logfile.Options{Zone: time.UTC, Latest: f.mod, Runtime: func(line string) bool {
		l, ok := containerdlog.ParseLine(line)
		if !ok {
			return false
		}
		if id := containerdlog.Began(&l); id != "" && len(ran) < maxAnchors && ran[id] == 0 {
			ran[id] = l.Time.UnixNano()
		}
		return true
	}})
	if err != nil {
		return
	}
	for range maxLook {
		it, err := log.Next()
		if err != nil {
			return
		}
		if id := startedIn(&it.Entry); id != "" && len(found) < maxAnchors && found[id] == 0 {
			found[id] = it.Entry.Time.UnixNano()
		}
	}
}

// startedIn is the container or sandbox that an entry of a kubelet says to have started.
func startedIn(e *klog.Entry) string {
	if e.Msg != "SyncLoop (PLEG): event for pod" {
		return ""
	}
	var ev struct{ Type, Data string }
	if json.Unmarshal([]byte(e.Get("event")), &ev) != nil || ev.Type != "ContainerStarted" {
		return ""
	}
	return ev.Data
}
