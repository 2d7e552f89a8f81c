package containerdprogress

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc/metadata"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// manifest names a config of 10 bytes and layers of 100, 200 and 300; the last one
// twice, as images of empty layers do.
const manifest = `{"config":{"digest":"sha256:c","size":10},
"layers":[{"digest":"sha256:a","size":100},{"digest":"sha256:b","size":200},
{"digest":"sha256:d","size":300},{"digest":"sha256:d","size":300}]}`

func TestLook(t *testing.T) {
	s := newStore()
	src := New(dial(t, s))
	began := time.Unix(1000, 0)
	p, err := newPull(src.content, &src.board, "localhost:5000/team/app:v1", began)
	if err != nil {
		t.Fatal(err)
	}
	src.board.enter(p)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "containerd-namespace", namespace)
	from := map[string]string{"containerd.io/distribution.source.localhost": "team/app"}
	labels := func(repos string, layers ...string) map[string]string {
		m := map[string]string{"containerd.io/distribution.source.localhost": repos}
		for i, l := range layers {
			m["containerd.io/gc.ref.content.l."+string(rune('0'+i))] = l
		}
		return m
	}
	steps := []struct {
		name        string
		do          func()
		known       bool
		done, total int64
	}{
		{"nothing is written", func() {}, false, 0, 0},
		{"another pull runs", func() {
			s.commit("sha256:other", manifest, began, labels("team/other", "sha256:x"))
			s.write("layer-sha256:x", 5)
		}, false, 0, 0},
		{"the manifest is written", func() { s.write("manifest-sha256:m", 1) }, false, 0, 0},
		{"the manifest is there, an old version and another repository share a layer", func() {
			s.commit("sha256:m", manifest, began.Add(1), labels("team/base,team/app", "sha256:a", "sha256:b", "sha256:d"))
			s.commit("sha256:old", "{}", began.Add(-1), labels("team/app", "sha256:d"))
			s.commit("sha256:third", "{}", began.Add(-1), labels("team/third", "sha256:a", "sha256:b", "sha256:d"))
			s.commit("sha256:a", strings.Repeat("a", 100), began.Add(-time.Hour), from)
			s.write("layer-sha256:d", 30)
			s.write("layer-sha256:b", 0)
		}, true, 30, 510},
		{"layers grow", func() { s.write("layer-sha256:d", 300); s.write("layer-sha256:b", 50) }, true, 350, 510},
		{"a layer is being committed", func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.ingests, "layer-sha256:d")
		}, true, 350, 510},
		{"a layer is committed", func() { s.commit("sha256:d", "", began.Add(2), from) }, true, 350, 510},
		{"a small one came between two looks", func() { s.commit("sha256:c", "", began.Add(3), from) }, true, 360, 510},
		{"all is there", func() { s.commit("sha256:b", "", began.Add(4), from) }, true, 510, 510},
	}
	for _, st := range steps {
		st.do()
		known, err := p.look(ctx)
		if err != nil {
			t.Fatalf("%s: %v", st.name, err)
		}
		if known != st.known || known && (p.done != st.done || p.total != st.total) {
			t.Errorf("%s: %v, %d of %d; want %v, %d of %d", st.name, known, p.done, p.total, st.known, st.done, st.total)
		}
	}
	if s.lists != 3 {
		t.Errorf("listed all content %d times, want only until the manifest was found", s.lists)
	}
}

// Two tags of one repository are pulled at once: which manifest belongs to which pull is known only when one of them is
// finished.
func TestNoGuess(t *testing.T) {
	s := newStore()
	src := New(dial(t, s))
	now := time.Now()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "containerd-namespace", namespace)
	var pulls []*pull
	for _, ref := range []string{"r.io/app:v1", "r.io/app:v2", "r.io/db:v1"} {
		p, err := newPull(src.content, &src.board, ref, now)
		if err != nil {
			t.Fatal(err)
		}
		src.board.enter(p)
		pulls = append(pulls, p)
	}
	for digest, repo := range map[string]string{"1": "app", "2": "app", "3": "db"} {
		s.commit("sha256:m"+digest, `{"layers":[{"digest":"sha256:`+digest+`","size":`+digest+`00}]}`, now, map[string]string{
			"containerd.io/distribution.source.r.io": repo,
			"containerd.io/gc.ref.content.l.0":       "sha256:" + digest,
		})
		s.write("layer-sha256:"+digest, 7)
	}
	want := func(i int, known bool, total int64) {
		t.Helper()
		got, err := pulls[i].look(ctx)
		if err != nil || got != known || pulls[i].total != total {
			t.Errorf("pull %d: %v, total %d, %v; want %v, %d", i, got, pulls[i].total, err, known, total)
		}
	}
	want(0, false, 0)
	want(1, false, 0)
	want(2, true, 300)

	src.board.leave(pulls[0]) // another client, for example crictl, continues the pull
	want(1, false, 0)
	s.commit("sha256:1", "", now, nil)
	want(1, true, 200)

	// A later pull gets the remaining manifest.
	src.board.enter(pulls[0])
	want(0, false, 0)
	s.write("layer-sha256:1", 7)
	want(0, true, 100)
}

func TestFollowReportsUntilCancelled(t *testing.T) {
	s := newStore()
	s.commit("sha256:m", manifest, time.Now(), map[string]string{
		"containerd.io/distribution.source.docker.io": "library/busybox",
		"containerd.io/gc.ref.content.l.0":            "sha256:a",
	})
	s.write("layer-sha256:a", 42)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []image.Progress
	New(dial(t, s)).Follow(ctx, "busybox", func(p image.Progress) {
		got = append(got, p)
		cancel()
	})
	want := image.Progress{Done: 42, Total: 610, Source: "content-store"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFollowGivesUpWhereNobodyKnows(t *testing.T) {
	for name, server := range map[string]content.ContentServer{
		"no such service": nil,
		"unimplemented":   content.UnimplementedContentServer{},
	} {
		t.Run(name, func(t *testing.T) {
			New(dial(t, server)).Follow(t.Context(), "busybox", func(image.Progress) { t.Error("reported") })
		})
	}
	New(dial(t, nil)).Follow(t.Context(), "Not A Name", func(image.Progress) { t.Error("reported") })
}
