package model_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A record is the caller's, who may reuse its memory for the next one: the model does not change.
func TestRecordsMayBeReused(t *testing.T) {
	files, err := filepath.Glob("../../tui/testdata/recordings/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		rd, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		fresh, again := model.New(model.Options{}), model.New(model.Options{})
		var place trace.Record
		for item, err := range rd.All() {
			if err != nil {
				t.Fatal(err)
			}
			fresh.Apply(&item.Rec)
			place = item.Rec
			again.Apply(&place)
			place = trace.Record{Span: 1, Parent: 2, Event: &trace.Loop{}}
		}
		if err := rd.Close(); err != nil {
			t.Error(err)
		}
		now := fresh.Node().Last
		for what, get := range map[string]func(*model.Model) any{
			"pods":     func(m *model.Model) any { return m.Pods() },
			"gone":     func(m *model.Model) any { return m.GonePods() },
			"API":      func(m *model.Model) any { return m.API() },
			"requests": func(m *model.Model) any { return m.Requests(now) },
			"calls":    func(m *model.Model) any { return m.Calls() },
			"flight":   func(m *model.Model) any { return m.InFlight() },
			"loops":    func(m *model.Model) any { return m.Loops() },
			"passes":   func(m *model.Model) any { return m.Passes() },
			"lines":    func(m *model.Model) any { return m.Lines() },
			"volumes":  func(m *model.Model) any { return m.Volumes() },
			"probes":   func(m *model.Model) any { return m.Probes() },
			"statuses": func(m *model.Model) any { return m.Statuses() },
			"sources":  func(m *model.Model) any { return m.Sources() },
			"node":     func(m *model.Model) any { return m.Node() },
		} {
			if !reflect.DeepEqual(get(fresh), get(again)) {
				t.Errorf("%s: %s differ", filepath.Base(file), what)
			}
		}
	}
}
