package bundle

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestSpecOfDump: the objects that a pod refers to are known only where its whole spec is valid; its names are known otherwise, too.
func TestSpecOfDump(t *testing.T) {
	const spec = `{"containers":[{"name":"web","resources":{"limits":{"memory":"%s"}},"envFrom":[{"secretRef":{"name":"keys"}}]}],"volumes":[{"name":"data"}]}`
	for memory, known := range map[string]bool{"1Gi": true, "(redacted)": false} {
		var s podSpec
		if err := json.Unmarshal(fmt.Appendf(nil, spec, memory), &s); err != nil {
			t.Fatal(err)
		}
		if s.Containers[0].Name != "web" || s.Volumes[0].Name != "data" || known != (s.whole != nil) {
			t.Errorf("%s: %+v", memory, s)
		}
	}
}
