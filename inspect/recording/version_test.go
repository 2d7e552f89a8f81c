package recording

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// TestVersion1 opens a recording that was made when version 1 was new, and reads what it read then (v1.jsonl). Neither
// file is ever created again, as docs/recording.md promises.
func TestVersion1(t *testing.T) {
	items, info := read(t, filepath.Join("testdata", "v1.klrec"))
	want, err := os.ReadFile(filepath.Join("testdata", "v1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var recs []trace.Record
	for _, it := range items {
		if it.Lost > 0 {
			recs = append(recs, *lostRecord(it.Lost, it.Rec.Time))
		}
		recs = append(recs, it.Rec)
	}
	got := texts(t, recs)
	then := strings.Split(strings.TrimSpace(string(want)), "\n")
	if len(got) != len(then) {
		t.Fatalf("%d records, then %d", len(got), len(then))
	}
	for i := range then {
		switch e := recs[i].Event.(type) {
		case *trace.Wait:
			then[i] = wordsNow(t, then[i], map[string]string{"on": say.On(e), "detail": say.Detail(e, recs[i].Start())})
			if e.Target.Kind == trace.TargetOther {
				t.Errorf("record %d: got no target, from\n%s", i, then[i])
			}
		case *trace.Pressure:
			then[i] = wordsNow(t, then[i], map[string]string{"rule": say.Thresholds(e.Signal, e.Thresholds)})
		}
		if why := lacks(value(t, got[i]), value(t, then[i]), ""); why != "" {
			t.Errorf("record %d: %s\nnow:  %s\nthen: %s", i, why, got[i], then[i])
		}
	}
	if info.Version != 1 || info.Node != "vm" || info.Kubeloupe != "v0.4.0" || info.Sessions != 2 || info.Lost != 7 || info.Unknown != 2 || info.Torn || info.Skipped != 0 {
		t.Errorf("%+v", info)
	}
	if !items[0].Earlier || items[0].Session != 0 || items[len(items)-1].Session != 1 {
		t.Errorf("%+v", items[0])
	}
}

// wordsNow returns a line without the fields that were sentences, and with the facts that replace them.
func wordsNow(t *testing.T, then string, now map[string]string) string {
	t.Helper()
	v, ok := value(t, then).(map[string]any)
	event, isObject := v["event"].(map[string]any)
	if !ok || !isObject {
		t.Fatalf("no record: %s", then)
	}
	for field, said := range now {
		if was, _ := event[field].(string); (said == "") != (was == "") {
			t.Errorf("%s: got %q, then %q", field, said, was)
		}
		delete(event, field)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestAppendToVersion1: a new session makes an earlier recording one of this version, which an earlier kubeloupe
// refuses.
func TestAppendToVersion1(t *testing.T) {
	p := path(t)
	old, err := os.ReadFile(filepath.Join("testdata", "v1.klrec"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, old, 0o600); err != nil {
		t.Fatal(err)
	}
	before, was := read(t, p)
	w, err := Create(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	after, is := read(t, p)
	if was.Version != 1 || is.Version != 2 || len(after) != len(before) || is.Sessions != was.Sessions+1 {
		t.Errorf("%+v, %d records, then %+v, %d records", was, len(before), is, len(after))
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lacks returns what of then is missing in now. A later version may write additional fields; none may disappear or
// change.
func lacks(now, then any, at string) string {
	was, ok := then.(map[string]any)
	if !ok {
		return cmp.Diff(then, now)
	}
	is, ok := now.(map[string]any)
	if !ok {
		return at + " is no object"
	}
	for k, v := range was {
		if why := lacks(is[k], v, at+"."+k); why != "" {
			return at + "." + k + ": " + why
		}
	}
	return ""
}

// TestNewerKinds: records of unknown kinds are counted and skipped.
func TestNewerKinds(t *testing.T) {
	p, recs := path(t), busy(20, later, 1)
	w, err := Create(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(recs[:10], 0); err != nil {
		t.Fatal(err)
	}
	w.packer.text = append(w.packer.text, dream+"\n"...)
	w.packer.records++
	if err := w.Write(recs[10:], 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	items, info := read(t, p)
	same(t, items, recs)
	if info.Unknown != 1 || info.Records != 21 || lostOf(items) != 0 {
		t.Errorf("%+v", info)
	}
}

// TestNewerFrames: frames of an unknown kind are skipped.
func TestNewerFrames(t *testing.T) {
	p, recs := path(t), busy(20, later, 1)
	write(t, p, Options{}, recs[:10])
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("a table of contents")
	h := head{kind: 'T', stored: uint32(len(text)), raw: uint32(len(text)), sum: castagnoli(text)}
	if _, err := f.Write(append(h.append(nil), text...)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	write(t, p, Options{}, recs[10:])
	items, info := read(t, p)
	same(t, items, recs)
	if info.Skipped != 0 || info.Torn || len(info.Damage) != 0 {
		t.Errorf("%+v", info)
	}
}
