package csi

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzVolData reads data files from this agent, from upstream's kubelet, or from a bad disk.
func FuzzVolData(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", `{"volumeHandle":"h","driverName":"d"}`, `{"driverName":"csi.example.com","nodeName":"n1","specVolID":"pv","volumeHandle":"v-1","volumeLifecycleMode":"Ephemeral","attachmentID":"csi-1"}`,
		`{"volumeHandle":"h"}`, `{"volumeHandle":1,"driverName":"d"}`, `{"volumeHandle":"h","driverName":"d"`, "{\"volumeHandle\":\"h\x00\",\"driverName\":\"\\ud800\"}", `{"VolumeHandle":"h","DRIVERNAME":"d"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data, err := parseData(text)
		if err != nil {
			return
		}
		if data.Driver == "" || data.Handle == "" || !strings.HasPrefix(data.id(), data.Driver) || !strings.HasSuffix(data.id(), data.Handle) {
			t.Fatalf("%+v", data)
		}
		out, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseData(out); err != nil || again != data {
			t.Fatalf("%+v became %+v, %v", data, again, err)
		}
	})
}
