package trace

import (
	"encoding/json"
	"testing"
)

// TestAlso: the further observers of a record are encoded and decoded, by both parsers.
func TestAlso(t *testing.T) {
	rec := Record{Seq: 1, Observer: ObserverKubeletLog, Also: ObserverSet(0).With(ObserverRuntimeLog).With(ObserverProxy), Event: &Log{Message: "x"}}
	line, err := rec.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var fast, slow Record
	if err := fast.ParseJSON(line); err != nil || fast.Also != rec.Also {
		t.Errorf("%s: got %v, %v", line, fast.Also, err)
	}
	if err := json.Unmarshal(line, &slow); err != nil || slow.Also != rec.Also || slow.Also.String() != "runtime-log,proxy" {
		t.Errorf("%s: got %v, %v", line, slow.Also, err)
	}
	if err := fast.ParseJSON([]byte(`{"v":2,"seq":1,"time":"2026-01-01T00:00:00.000000000Z","kind":"log","also":"nobody","event":{}}`)); err == nil {
		t.Error("an unknown observer is taken")
	}
}
