package trace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const huge = 2 * MaxEvent

// fill sets every text to size bytes, every list to n such items, every body to size bytes.
func fill(v reflect.Value, size, n int) {
	if !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case Body:
		v.Set(reflect.ValueOf(BodyOf(json.RawMessage(`"`+strings.Repeat("b", size)+`"`), size+2)))
		return
	case time.Time:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", size))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), size, n)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, size, n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), size, n)
		}
	default:
	}
}

// weigh returns the size of v in memory with everything that it references; bodies are counted separately.
func weigh(v reflect.Value) (size, bodies int) {
	add := func(v reflect.Value) {
		s, b := weigh(v)
		size, bodies = size+s, bodies+b
	}
	if b, ok := reflect.TypeAssert[Body](v); ok {
		p, _ := b.MarshalJSON()
		return 0, len(p)
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len(), 0
	case reflect.Pointer:
		if !v.IsNil() {
			size = int(v.Elem().Type().Size())
			add(v.Elem())
		}
	case reflect.Struct:
		if _, ok := reflect.TypeAssert[time.Time](v); ok {
			return 0, 0
		}
		for _, field := range v.Fields() {
			add(field)
		}
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			add(v.Index(i))
		}
	default:
	}
	return size, bodies
}

// place publishes any event; the generic functions need its type.
func place(b *Bus, s Span, e Event) {
	reflect.ValueOf(map[Kind]any{
		kindAgent: PublishSpan[Agent], kindSource: PublishSpan[Source], kindSourceError: PublishSpan[SourceError], kindLoop: PublishSpan[Loop],
		kindLog: PublishSpan[Log], kindPressure: PublishSpan[Pressure], kindDecision: PublishSpan[Decision], kindGC: PublishSpan[GC],
		kindNodeEvent: PublishSpan[NodeEvent], kindMilestone: PublishSpan[Milestone], kindWorker: PublishSpan[Worker], kindSync: PublishSpan[Sync],
		kindPlan: PublishSpan[Plan], kindAction: PublishSpan[Action], kindWait: PublishSpan[Wait], kindGate: PublishSpan[Gate], kindPodStatus: PublishSpan[PodStatus],
		kindCRICall: PublishSpan[CRICall], kindPLEGRelist: PublishSpan[PLEGRelist], kindPLEGEvent: PublishSpan[PLEGEvent], kindPLEGMode: PublishSpan[PLEGMode],
		kindImagePull: PublishSpan[ImagePull], kindImageProgress: PublishSpan[ImageProgress], kindVolume: PublishSpan[Volume], kindCgroupOp: PublishSpan[CgroupOp],
		kindAPICall: PublishSpan[APICall], kindNodeStatus: PublishSpan[NodeStatus], kindProbeAttempt: PublishSpan[ProbeAttempt], kindCSICall: PublishSpan[CSICall],
		kindVolumeProgress: PublishSpan[VolumeProgress], kindStatusPatch: PublishSpan[StatusPatch], kindServerRequest: PublishSpan[ServerRequest],
		kindRuntimeSpan: PublishSpan[RuntimeSpan], kindUsage: PublishSpan[Usage], kindNodeDescribed: PublishSpan[NodeDescribed],
		kindRuntimeDescribed: PublishSpan[RuntimeDescribed], kindResourcesDescribed: PublishSpan[ResourcesDescribed], kindCertificate: PublishSpan[Certificate], kindClockStepped: PublishSpan[ClockStepped], kindOOMKill: PublishSpan[OOMKill], kindEviction: PublishSpan[Eviction],
		kindDevicePlugin: PublishSpan[DevicePlugin], kindDeviceAllocation: PublishSpan[DeviceAllocation], kindAllocation: PublishSpan[Allocation],
		kindShutdown: PublishSpan[Shutdown], kindDRAPlugin: PublishSpan[DRAPlugin], kindResourceClaim: PublishSpan[ResourceClaim], kindClaimDescribed: PublishSpan[ClaimDescribed], kindSpanExport: PublishSpan[SpanExport],
		kindResize: PublishSpan[Resize],
	}[e.Kind()]).Call([]reflect.Value{reflect.ValueOf(b), reflect.ValueOf(s), reflect.ValueOf(e).Elem()})
}

// TestEveryEventHasABudget publishes the largest events of each type, from one very long text to many small ones.
func TestEveryEventHasABudget(t *testing.T) {
	for _, name := range Kinds() {
		for _, shape := range []struct{ size, n int }{{huge, 1}, {6000, 20}, {300, 100}, {1, 300}} {
			t.Run(fmt.Sprintf("%s %d x %d", name, shape.n, shape.size), func(t *testing.T) {
				e, _ := New(name)
				fill(reflect.ValueOf(e).Elem(), shape.size, shape.n)
				before, _ := weigh(reflect.ValueOf(e).Elem())
				bus := NewBus(4)
				cur := bus.Subscribe(FromOldest)
				pod := Pod{Namespace: strings.Repeat("n", shape.size), Name: strings.Repeat("m", shape.size), UID: strings.Repeat("u", shape.size)}
				place(bus, Span{Trace: TraceID{1, 2}, ID: 3, Pod: pod}, e)
				if after, _ := weigh(reflect.ValueOf(e).Elem()); after != before {
					t.Error("what the publisher has was changed")
				}
				recs, _ := drain(cur, 1)
				check := func(r Record) {
					t.Helper()
					size, bodies := weigh(reflect.ValueOf(r.Event).Elem())
					own, _ := weigh(reflect.ValueOf(r.Pod))
					size += own + int(reflect.TypeOf(e).Elem().Size())
					if size > MaxEvent || bodies > 2*MaxBody {
						t.Errorf("%d bytes and %d of bodies are kept", size, bodies)
					}
				}
				check(recs[0])
				size, bodies := weigh(reflect.ValueOf(recs[0].Event).Elem())
				if got := int(bus.Bytes()); got < size+bodies || got > size+bodies+2*maxWord*3+int(reflect.TypeOf(e).Elem().Size())+2*maxMark {
					t.Errorf("the bus counts %d bytes, they are %d and %d of bodies", got, size, bodies)
				}
				line, err := json.Marshal(Record{Seq: 1, Pod: pod, Event: e}) // as in a hostile recording
				if err != nil {
					t.Fatal(err)
				}
				var r Record
				if err := r.ParseJSON(line); err != nil {
					t.Fatal(err)
				}
				check(r)
				whole := r.Size()
				if r.Shorten(); r.Size() > 20<<10 || whole < size+bodies || whole > (size+bodies)*11/10+2<<10 {
					t.Errorf("%d bytes, in short %d; they are %d and %d", whole, r.Size(), size, bodies)
				}
				if r = (Record{}); shape.n > 1 && r.UnmarshalJSON(line) == nil {
					check(r)
				}
			})
		}
	}
}

// TestOrdinaryEventsAreNotCut checks events of ordinary nodes, including a pod of 60 containers that all fail with a
// long message.
func TestOrdinaryEventsAreNotCut(t *testing.T) {
	status, spec, plan := PodStatus{Phase: PodPending}, &PodSpec{}, Plan{}
	for i := range 60 {
		name := fmt.Sprintf("container-%d", i)
		status.Containers = append(status.Containers, ContainerStatus{
			Name: name, State: ContainerWaiting, Reason: "ImagePullBackOff", ID: "containerd://" + strings.Repeat("f", 64), Message: strings.Repeat("e", 300),
		})
		spec.Containers = append(spec.Containers, ContainerSpec{Name: name, Image: "registry.example.com/team/image@sha256:" + strings.Repeat("0", 64)})
		plan.Steps = append(plan.Steps, PlanStep{ID: "create " + name, Verb: VerbCreate, Needs: []string{"sandbox", "volumes", "image"}, Reason: "it is not there"})
	}
	for _, e := range []Event{
		&status, &Milestone{Name: MilestoneSeen, Spec: spec}, &plan,
		&PodStatus{Containers: []ContainerStatus{{Name: "one", Message: strings.Repeat("m", 4096)}}}, // a complete termination message
		&NodeStatus{Changed: []Change{{Message: strings.Repeat("c", 4000)}}},
	} {
		want, _ := json.Marshal(e)
		bus := NewBus(4)
		cur := bus.Subscribe(FromOldest)
		place(bus, Span{}, e)
		recs, _ := drain(cur, 1)
		if got, _ := json.Marshal(recs[0].Event); string(got) != string(want) {
			t.Errorf("%.200s was cut to %.200s", want, got)
		}
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	bus := NewBus(4)
	cur := bus.Subscribe(FromOldest)
	Point(bus, Span{}, PodStatus{Containers: make([]ContainerStatus, 5000)})
	Point(bus, Span{}, StatusPatch{Changed: make([]Change, 5000)})
	Point(bus, Span{}, CRICall{Request: BodyOf(json.RawMessage(`{}`), huge)})
	recs, _ := drain(cur, 8)
	if e := recs[0].Event.(*PodStatus); e.Clipped == 0 || len(e.Containers)+e.Clipped != 5000 {
		t.Errorf("%d containers, %d left out", len(e.Containers), e.Clipped)
	}
	if e := recs[1].Event.(*StatusPatch); e.Clipped == 0 || len(e.Changed)+e.Clipped != 5000 {
		t.Errorf("%d changes, %d left out", len(e.Changed), e.Clipped)
	}
	if p, err := json.Marshal(recs[2].Event.(*CRICall).Request); string(p) != fmt.Sprintf(`{"clipped":"%d bytes"}`, huge) {
		t.Errorf("%s, %v", p, err)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"short", 5, "short"},
		{strings.Repeat("a", 100), 40, "aaaaaaaaaaaaaaaaa…[clipped: 100 bytes]"},
		{strings.Repeat("é", 50), 41, "ééééééééé…[clipped: 100 bytes]"},
		{strings.Repeat("\xbf", 100), 41, strings.Repeat("\xbf", 14) + "…[clipped: 100 bytes]"},
		{strings.Repeat("a", 100), 0, "…[clipped: 100 bytes]"},
	} {
		got := Clip(c.in, c.limit)
		if got != c.want || len(got) > max(c.limit, maxMark) || utf8.ValidString(c.in) != utf8.ValidString(got) {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Clip("short", 100) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTheRingHasABudgetOfBytes publishes the largest possible records: fewer are kept, a reader gets the exact number
// of lost ones, and evicted ones are not kept in memory.
func TestTheRingHasABudgetOfBytes(t *testing.T) {
	const budget, published = 4 << 20, 400
	bus := NewBusOf(8192, budget)
	slow, never := bus.Subscribe(FromOldest), bus.Subscribe(FromOldest)
	defer never.Close()
	live := heap()
	var read, lost uint64
	for i := range published {
		e := &PodStatus{Message: fmt.Sprint(i)}
		fill(reflect.ValueOf(&e.Containers).Elem(), 100, 300)
		Point(bus, Span{}, *e)
		Point(bus, Span{}, Log{Message: strings.Repeat("z", 50_000)})
		if bus.Bytes() > budget {
			t.Fatalf("%d bytes are kept", bus.Bytes())
		}
		if i%97 == 0 {
			recs, l := slow.Poll(make([]Record, 0, 7))
			read, lost = read+uint64(len(recs)), lost+l
		}
	}
	if grown := heap() - live; grown > 2*budget {
		t.Errorf("%d bytes are alive", grown)
	}
	recs, l := drain(slow, 16)
	if read, lost = read+uint64(len(recs)), lost+l; read+lost != 2*published || lost == 0 || recs[len(recs)-1].Seq != 2*published {
		t.Errorf("%d read, %d lost, the last is %d", read, lost, recs[len(recs)-1].Seq)
	}
	for i := range 100_000 { // small ones again: their number is the limit
		Point(bus, Span{}, Wait{Note: fmt.Sprint(i)})
	}
	recs, l = drain(never, 100_000)
	if len(recs) != 8192 || l != 2*published+100_000-8192 {
		t.Errorf("%d records, %d lost", len(recs), l)
	}
	if grown := heap() - live; grown > 2*budget {
		t.Errorf("%d bytes are alive", grown)
	}
	runtime.KeepAlive(bus)
}

// heap returns the size of the live heap in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestOneRecordIsAlwaysKept: even by a bus without room for one.
func TestOneRecordIsAlwaysKept(t *testing.T) {
	bus := NewBusOf(4, 1)
	cur := bus.Subscribe(FromOldest)
	for range 9 {
		Point(bus, Span{}, Log{Message: "x"})
	}
	if recs, lost := drain(cur, 4); len(recs) != 1 || lost != 8 || recs[0].Seq != 9 {
		t.Errorf("%d records, %d lost", len(recs), lost)
	}
}

// TestBoxesAreBounded has a ring in which only one type of event is published at a time.
func TestBoxesAreBounded(t *testing.T) {
	bus := NewBus(256)
	for _, name := range Kinds() {
		e, _ := New(name)
		for range 256 {
			place(bus, Span{}, e)
		}
	}
	for k := range bus.spare {
		if n := len(bus.spare[k]); n > 256/spareShare+1 {
			t.Errorf("%d boxes of %s are kept", n, Kind(k))
		}
		for _, box := range bus.spare[k] {
			if !reflect.ValueOf(box).Elem().IsZero() {
				t.Errorf("a box is kept with %+v", box)
			}
		}
	}
}

// TestLazyReadersMindBytes: large records wake a lazy reader long before an eighth of the ring's slots is in use, so it
// loses none.
func TestLazyReadersMindBytes(t *testing.T) {
	bus := NewBusOf(8192, 4<<20)
	cur := bus.Subscribe(FromNow)
	cur.Batch()
	var woken []int
	for i := range 3000 {
		Point(bus, Span{}, Log{Message: strings.Repeat("z", 4000)})
		if cur.ready() {
			woken = append(woken, i)
			if _, lost := cur.Poll(make([]Record, 0, 1024)); lost > 0 {
				t.Fatalf("%d lost", lost)
			}
		}
	}
	if len(woken) != 23 { // 3000 times 4 KiB are 23 times an eighth of 4 MiB
		t.Errorf("woken at %v", woken)
	}
}
