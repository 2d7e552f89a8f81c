package userns

import (
	"encoding/json"
	"testing"
)

// FuzzMappings decodes a pod's range of IDs from this agent, from upstream's kubelet, or from a bad disk. Valid ranges
// are passed to the runtime.
func FuzzMappings(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}`,
		// The container's root would be the node's.
		`{"uidMappings":[{"hostId":0,"containerId":0,"length":65536}],"gidMappings":[{"hostId":0,"containerId":0,"length":65536}]}`,
		// Half of it would be another pod's.
		`{"uidMappings":[{"hostId":98304,"containerId":0,"length":65536}],"gidMappings":[{"hostId":98304,"containerId":0,"length":65536}]}`,
		`{"uidMappings":[{"hostId":4294967295,"containerId":0,"length":65536}],"gidMappings":[{"hostId":4294967295,"containerId":0,"length":65536}]}`,
		`{"uidMappings":[],"gidMappings":[]}`, `{"uidMappings":[{"hostId":-1}]}`, `{"uidMappings":[{"hostId":1e9}]}`,
	} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		perPod := int64(DefaultPerPod) * int64(min(max(times, 1), 1000))
		m, err := parse(text, perPod)
		if err != nil {
			return
		}
		u := m.UIDs[0]
		if len(m.UIDs) != 1 || len(m.GIDs) != 1 || u != m.GIDs[0] || u.Container != 0 || int64(u.Length) != perPod {
			t.Fatalf("%+v", m)
		}
		if int64(u.Host) < perPod || int64(u.Host)%perPod != 0 || int64(u.Host)+perPod > 1<<32 {
			t.Fatalf("ids %d to %d of the node are none of its ranges", u.Host, int64(u.Host)+perPod-1)
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parse(out, perPod); err != nil || again.UIDs[0] != u {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}
