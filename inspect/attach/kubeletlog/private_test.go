package kubeletlog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestPrivate reads what kubelets write of commands, outputs and environments: neither the records nor a recording has it, and the lines
// are there.
func TestPrivate(t *testing.T) {
	const canary = "hunter2CANARY"
	tail := "} start failed in pod a_prod(1111): CreateContainerConfigError: no secret"
	container := `container &Container{Name:web,Command:[sh ` + canary + `],Env:[]EnvVar{EnvVar{Name:P,Value:} start failed in pod x: ` + canary + `,ValueFrom:nil,},},` + tail
	for name, c := range map[string]struct {
		msg  string
		keys [][2]string
		want string
	}{
		"ExecSync":      {"ExecSync cmd from runtime service failed", [][2]string{{"err", "rpc error"}, {"cmd", `["mysql","-p` + canary + `"]`}}, "rpc error"},
		"Exec":          {"Exec cmd from runtime service failed", [][2]string{{"cmd", `["` + canary + `"]`}}, "Exec cmd from"},
		"a hook":        {"Exec lifecycle hook for Container in Pod failed", [][2]string{{"execCommand", `["` + canary + `"]`}, {"message", canary}, {"err", "exit 1"}}, "exit 1"},
		"a container":   {container, nil, "container &Container{[not shown]" + tail},
		"an error":      {"Unhandled Error", [][2]string{{"err", container}}, "container &Container{[not shown]" + tail},
		"a part":        {"x", [][2]string{{"err", `[]v1.EnvVar{v1.EnvVar{Name:"P", Value:"` + canary + `"}}`}}, "[]v1.EnvVar{[not shown]"},
		"a cut one":     {"x " + container[:90], nil, "container &Container{[not shown]"},
		"a hook's text": {"y", [][2]string{{"reason", `Exec lifecycle hook ([` + canary + `]) for Container "c" in Pod "p" failed - error: x, message: "` + canary + `"`}}, "Exec lifecycle hook ([not shown]"},
		"an old hook":   {`Exec lifecycle hook ([` + canary + `]) for Container "c" in Pod "p" failed - error: x, message: "` + canary + `"`, nil, "Exec lifecycle hook ([not shown]"},
		"an old exec":   {`ExecSync 0123abcd 'mysql -p` + canary + ` ' from runtime service ' ` + canary + `' from runtime service failed: rpc error`, nil, "ExecSync 0123abcd '[not shown]' from runtime service failed: rpc error"},
		"an old probe":  {`Exec-Probe Pod: p, Container: c, Command: [sh ` + canary + `]`, nil, "Container: c, Command: [not shown]"},
		"a Secret, V8":  {"Response Body", [][2]string{{"body", "00000000  6b 38 73 00 |k8s.." + canary}}, "Response Body"},
		"an old Secret": {"Response Body:\n00000000  6b 38 73 00  |k8s." + canary + "|", nil, "Response Body:[not shown]"},
		"an old status": {`Request Body: {"status": "` + canary + `"}`, nil, "Request Body:[not shown]"},
		"a warning":     {"Some probe", [][2]string{{"output", canary}}, "Some probe"},
	} {
		text, object := fmt.Sprintf("E1122 08:00:00.000000 1 a.go:1] %q", c.msg), map[string]any{"ts": 1795334400000.0, "caller": "a/a.go:1", "msg": c.msg}
		for _, kv := range c.keys {
			text += fmt.Sprintf(" %s=%q", kv[0], kv[1])
			object[kv[0]] = kv[1]
		}
		inJSON, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for form, log := range map[string]string{"text": text, "JSON": string(inJSON), "free": "E1122 08:00:00.000000 1 a.go:1] " + c.msg} {
			t.Run(name+", "+form, func(t *testing.T) {
				recs, _, _ := all(t, log+"\n")
				var out []byte
				for i := range recs {
					out = append(out, fmt.Sprintf("%+v", recs[i].Event)...)
					if out, err = recs[i].AppendJSON(out); err != nil {
						t.Fatal(err)
					}
				}
				if strings.Contains(string(out), canary) || strings.Contains(fromRecording(t, recs), canary) {
					t.Errorf("it is in %s", out)
				}
				if form != "free" && !strings.Contains(strings.ReplaceAll(string(out), `\u0026`, "&"), c.want) {
					t.Errorf("%q is not in %s", c.want, out)
				}
			})
		}
	}
}

// fromRecording is what a recording of records has.
func fromRecording(t *testing.T, recs []trace.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.klrec")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(recs, 0), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []byte
	n := 0
	for it, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if out, err = it.Rec.AppendJSON(out); err != nil {
			t.Fatal(err)
		}
	}
	if n < len(recs) {
		t.Errorf("%d of %d records are in the recording", n, len(recs))
	}
	return string(out)
}
