package recording

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// small is a disk with little space, for all parts of a recording.
type small struct {
	path string
	room int64
}

func (s *small) make(path string) (*file, error) {
	f, err := makeFile(path)
	if err != nil {
		return nil, err
	}
	return &file{disk: &onSmall{f.disk, s}}, nil
}

func (s *small) used() (n int64) {
	for _, p := range []string{s.path, older(s.path), s.path + ".new"} {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return n
}

type onSmall struct {
	disk
	on *small
}

func (d *onSmall) WriteAt(p []byte, off int64) (int, error) {
	if free := d.on.room - d.on.used(); int64(len(p)) > free {
		n, _ := d.disk.WriteAt(p[:max(free, 0)], off)
		return n, unix.ENOSPC
	}
	return d.disk.WriteAt(p, off)
}

// onto makes a writer write to a small disk.
func onto(w *Writer, room int64) *small {
	s := &small{path: w.path, room: room}
	w.make, w.file.disk = s.make, &onSmall{w.file.disk, s}
	w.armed = true // without automatic flushes, so that the sizes are known
	return s
}

// TestRotateOnAFullDisk: the oldest part makes room for the newest.
func TestRotateOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without automatic flushes
		p, recs := path(t), busy(20000, later, 1)
		opt := Options{MaxBytes: 256 << 10, Tell: func(what Trouble) { t.Error(what) }}
		w, err := Create(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for w.header.Part < 2 || w.file.size < 100<<10 {
			if err := w.Write(recs[n:n+200], 0); err != nil {
				t.Fatal(err)
			}
			n += 200
		}
		onto(w, (&small{path: p}).used()+28<<10) // space until the part is full, and not for another
		for ; w.header.Part < 3; n += 200 {
			if err := w.Write(recs[n:n+200], 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		items, info := read(t, p)
		same(t, items, recs[info.Dropped:n])
		if info.Parts != 2 || info.Lost != 0 || info.Dropped == 0 {
			t.Errorf("%+v", info)
		}
	})
}

// TestFullDisk: it is reported once, the recording stays readable, and continues when there is space.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without automatic flushes
		p, recs := path(t), busy(9000, later, 1)
		var told []Trouble
		w, err := Create(p, Options{MaxBytes: 128 << 10, Tell: func(what Trouble) { told = append(told, what) }})
		if err != nil {
			t.Fatal(err)
		}
		disk := onto(w, 80<<10) // more than a part, and no older one that could make room
		failed := 0
		for i := range 40 {
			if w.Write(recs[i*200:][:200], 0) != nil {
				failed++
			}
		}
		if failed < 2 || len(told) != 1 || !errors.Is(told[0].Err, unix.ENOSPC) {
			t.Errorf("%d writes failed, told %v", failed, told)
		}
		items, info := read(t, p)
		same(t, items, recs[:len(items)])
		if len(items) == 0 || info.Torn || len(info.Damage) > 0 {
			t.Errorf("%d records, %+v", len(items), info)
		}
		disk.room = 1 << 30
		if err := errors.Join(w.Write(recs[8000:], 0), w.Close()); err != nil {
			t.Error(err)
		}
		after, info := read(t, p)
		if len(told) != 2 || told[1].Err != nil || told[1].Lost != info.Lost || uint64(len(after))+info.Lost+info.Dropped != 9000 || info.Lost == 0 {
			t.Errorf("%d records, %+v; told %v", len(after), info, told)
		}
		if last := after[len(after)-1].Rec.Seq; last != 9000 {
			t.Errorf("the last is %d", last)
		}
	})
}

// TestFullAtTheEnd: only Close can report the missing records at the end.
func TestFullAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without automatic flushes
		w, err := Create(path(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		onto(w, 0)
		if err := w.Write(busy(100, later, 1), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "100 records are missing at the end") {
			t.Error(err)
		}
	})
}

// TestNodeIsToldAnewWhenThereIsRoom: a part that began when the disk was full.
func TestNodeIsToldAnewWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without automatic flushes
		p := path(t)
		told := busy(2000, later, 1)
		w, err := Create(p, Options{MaxBytes: 1 << 20, Backlog: func() []trace.Record { return told }})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(busy(10, later, 1), 0), w.seal()); err != nil {
			t.Fatal(err)
		}
		disk := onto(w, 0)
		disk.room = disk.used() + 2000 // for the header of a part
		w.file.size += 512 << 10       // it is full
		if err := errors.Join(w.Write(busy(10, later, 11), 0), w.seal()); !errors.Is(err, unix.ENOSPC) || w.header.Part != 2 {
			t.Fatalf("part %d: %v", w.header.Part, err)
		}
		disk.room = 1 << 30
		if err := errors.Join(w.Write(busy(10, later, 21), 0), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(older(p)); err != nil {
			t.Fatal(err)
		}
		if items, _ := read(t, p); len(items) != len(told)+10 {
			t.Errorf("%d records", len(items))
		}
	})
}

// stuck is a disk that does not respond until it is released.
type stuck struct {
	disk
	writes, syncs chan struct{}
	at            atomic.Bool
}

func (d *stuck) WriteAt(p []byte, off int64) (int, error) {
	if d.writes != nil {
		d.at.Store(true)
		<-d.writes
	}
	return d.disk.WriteAt(p, off)
}

func (d *stuck) Sync() error {
	if d.syncs != nil {
		<-d.syncs
	}
	return d.disk.Sync()
}

// recordingOntoStuck is a recorder of a busy bus, whose disk does not respond.
type recordingOntoStuck struct {
	bus    *trace.Bus
	w      *Writer
	disk   *stuck
	told   []Trouble
	cancel context.CancelFunc
	done   chan error
}

func recordOntoStuck(t *testing.T, p string) *recordingOntoStuck {
	t.Helper()
	r := &recordingOntoStuck{bus: trace.NewBus(64), done: make(chan error, 1)}
	var err error
	if r.w, err = Create(p, Options{Tell: func(what Trouble) { r.told = append(r.told, what) }}); err != nil {
		t.Fatal(err)
	}
	r.disk = &stuck{disk: r.w.file.disk, writes: make(chan struct{})}
	r.w.file.disk = r.disk
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() { r.done <- r.w.Run(ctx, r.bus.Subscribe(trace.FromNow)) }()
	synctest.Wait()
	return r
}

// TestDiskDoesNotAnswer: this is reported, and the recorder nevertheless stops and reports the loss.
func TestDiskDoesNotAnswer(t *testing.T) {
	p := path(t)
	synctest.Test(t, func(t *testing.T) {
		r := recordOntoStuck(t, p)
		say := func(n int) {
			for range n {
				trace.Point(r.bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "some"})
			}
		}
		say(3)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.told) != 1 || !errors.Is(r.told[0].Err, errSilent) || !r.disk.at.Load() {
			t.Errorf("told %v", r.told)
		}
		say(1) // the writer receives it and waits
		time.Sleep(time.Second)
		say(100)
		began := time.Now()
		r.cancel()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		if err := r.w.Close(); err == nil || !strings.Contains(err.Error(), "the disk does not respond: 104 records are missing at the end") {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		close(r.disk.writes)
	})
	if _, info := read(t, p); info.Torn || len(info.Damage) > 0 {
		t.Errorf("%+v", info)
	}
}

// TestGoesOnAfterASilence: records that the bus lost meanwhile are reported.
func TestGoesOnAfterASilence(t *testing.T) {
	p := path(t)
	synctest.Test(t, func(t *testing.T) {
		r := recordOntoStuck(t, p)
		trace.Point(r.bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "first"})
		time.Sleep(3 * time.Second)
		trace.Point(r.bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "waits"})
		time.Sleep(10 * time.Second)
		for range 100 {
			trace.Point(r.bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "many"})
		}
		close(r.disk.writes)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(r.told) != 2 || r.told[1].Err != nil || r.told[1].Lost != 36 {
			t.Errorf("told %v", r.told)
		}
		r.cancel()
		if err := errors.Join(<-r.done, r.w.Close()); err != nil {
			t.Error(err)
		}
	})
	if items, info := read(t, p); len(items) != 66 || info.Lost != 36 {
		t.Errorf("%d records, %+v", len(items), info)
	}
}

// TestDiskDoesNotSync: closing does not wait forever.
func TestDiskDoesNotSync(t *testing.T) {
	p := path(t)
	synctest.Test(t, func(t *testing.T) {
		w, err := Create(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &stuck{disk: w.file.disk, syncs: make(chan struct{})}
		w.file.disk = d
		if err := w.Write(busy(10, later, 1), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, errSilent) || !strings.Contains(err.Error(), "may not be on it") {
			t.Error(err)
		}
		close(d.syncs)
	})
	if items, _ := read(t, p); len(items) != 10 {
		t.Errorf("%d records", len(items))
	}
}

// TestTroubleIsNotToldAgainAndAgain: a disk that is full repeatedly.
func TestTroubleIsNotToldAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr := teller{tell: func(Trouble) { n++ }}
		for range 100 {
			tr.failed(unix.ENOSPC)
			tr.wrote(1)
			time.Sleep(9 * time.Second)
		}
		if n != 4 { // within 15 minutes
			t.Errorf("told %d times", n)
		}
	})
}
