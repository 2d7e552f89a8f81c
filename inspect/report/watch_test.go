package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listOf is a table of pods for tests.
func listOf(rows ...[]Value) *Table {
	t := &Table{named: byKeys("name"), Columns: []Column{
		{Name: "NAME", Key: "name"},
		{Key: "uid"},
		{Name: "STATE", Key: "state"},
		{Name: "AGE", Key: "seen", Right: true},
		{Name: "IP", Key: "ip", Wide: true},
		{Name: "DOING", Key: "doing", Long: true},
	}}
	t.Rows = rows
	return t
}

func row(name, uid, state, age, ip, doing string) []Value {
	return []Value{str(name), str(uid), str(state), {age, "2026-11-21T07:16:14Z"}, str(ip), str(doing)}
}

// TestWatch prints lists one after the other.
func TestWatch(t *testing.T) {
	lists := []*Table{
		listOf(),
		listOf(row("web", "1", "starting", "1s", "", "pulls app, 1 MiB"), row("db", "2", "ready", "9s", "10.0.0.2", "")),
		listOf(row("web", "1", "starting", "2s", "", "pulls app, 20 MiB"), row("db", "2", "ready", "10s", "10.0.0.2", "")), // only figures
		listOf(row("web", "1", "starting", "3s", "", "start app, 20ms"), row("db", "2", "ready", "11s", "10.0.0.2", "")),
		listOf(row("web", "1", "ready", "4s", "10.0.0.3", ""), row("db", "3", "ready", "1s", "10.0.0.4", "")), // another db
		listOf(row("web", "1", "ready", "5s", "10.0.0.3", ""), row("a-much-longer-name", "4", "starting", "0s", "", "")),
		listOf(),
	}
	for format, want := range map[Format]string{
		Text: `NAME  STATE     AGE  DOING
web   starting   1s  pulls app, 1 MiB
db    ready      9s  -
web   starting   3s  start app, 20ms
web   ready      4s  -
db    ready      1s  -
a-much-longer-name  starting   0s  -
db                  gone       1s  -
a-much-longer-name  gone       0s  -
web                 gone       5s  -
`,
		Wide: `NAME  STATE     AGE  IP        DOING
web   starting   1s  -         pulls app, 1 MiB
db    ready      9s  10.0.0.2  -
web   starting   3s  -         start app, 20ms
web   ready      4s  10.0.0.3  -
db    ready      1s  10.0.0.4  -
a-much-longer-name  starting   0s  -         -
db                  gone       1s  10.0.0.4  -
a-much-longer-name  gone       0s  -         -
web                 gone       5s  10.0.0.3  -
`,
		Name:                  "web\ndb\nweb\nweb\ndb\na-much-longer-name\ndb\na-much-longer-name\nweb\n",
		"jsonpath={.state}\n": "starting\nready\nstarting\nready\nready\nstarting\ngone\ngone\ngone\n",
	} {
		var out strings.Builder
		w := NewWatch(&out, format, 0)
		for _, l := range lists {
			if err := w.Next(l); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

// TestWatchObjects prints each row as an object of its own.
func TestWatchObjects(t *testing.T) {
	for format, want := range map[Format]string{
		JSON: "{\n  \"name\": \"web\",\n  \"uid\": \"1\",\n  \"state\": \"ready\",\n  \"seen\": \"2026-11-21T07:16:14Z\"\n}\n",
		YAML: "---\nname: web\nuid: \"1\"\nstate: ready\nseen: \"2026-11-21T07:16:14Z\"\n",
	} {
		var out strings.Builder
		if err := NewWatch(&out, format, 0).Next(listOf(row("web", "1", "ready", "1s", "", ""))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

// TestWatchNarrow cuts lines to the terminal.
func TestWatchNarrow(t *testing.T) {
	var out strings.Builder
	if err := NewWatch(&out, Text, 40).Next(listOf(row("web", "1", "starting", "1s", "", strings.Repeat("pulls ", 30)))); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
