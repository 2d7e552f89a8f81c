package resize

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzCheckpoint reads checkpoints from this agent, from upstream's kubelet, or from a bad disk.
func FuzzCheckpoint(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", `{"entries":{"uid":{"ContainerResources":{"c":{"limits":{"cpu":"1","memory":"64Mi"},"requests":{"cpu":"100m"}}}}}}`,
		`{"entries":{"uid":{"PodLevelResources":{"limits":{"cpu":"1e-30"}},"EmptyDirVolumeLimits":{"v":"1Gi","w":null}}}}`, `{"entries":{"uid":null}}`, `{"entries":{"uid":{"ContainerResources":{"c":{"limits":{"cpu":"x"}}}}}}`,
		`{"data":"{}","checksum":1}`, `{"entries":{"":{"ContainerResources":{"c":{"limits":{"cpu":"99999999999999999999999999"}}}}}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		if sealed { // with the right checksum
			var err error
			if text, err = json.Marshal(checkpoint{Data: string(text), Checksum: checksum(string(text))}); err != nil {
				t.Fatal(err)
			}
		}
		pods, err := parse(text)
		if err != nil {
			return
		}
		out, err := format(pods)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(out)
		if err != nil || len(again) != len(pods) {
			t.Fatalf("%d pods became %d, %v", len(pods), len(again), err)
		}
		if twice, err := format(again); err != nil || !bytes.Equal(out, twice) {
			t.Fatalf("%s\n%s, %v", out, twice, err)
		}
		// A single flipped bit is detected.
		if i := bytes.IndexByte(out, '{'); len(out) > 40 {
			out[i+12] ^= 1
			if got, err := parse(out); err == nil && len(got) != len(pods) {
				t.Fatalf("a changed byte was not noticed: %s", out)
			}
		}
	})
}
