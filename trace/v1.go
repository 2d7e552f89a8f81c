package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recordings of the first schema have sentences instead of facts. Only this file reads them: each such event has its
// own type, which is converted to the current one as soon as it is parsed. Whoever made the recording wrote the
// sentences.

// Version is the schema of written records.
const Version = 2

// older is an event of an earlier schema.
type older interface {
	Event
	// upgrade returns the event as it would be published now; r is its record.
	upgrade(r *Record) Event
}

// firstSchema returns the kinds that were different in the first schema.
func firstSchema(kind string) (Event, bool) {
	switch kind {
	case kindWait.String():
		return new(waitV1), true
	case kindStatusPatch.String():
		return new(statusPatchV1), true
	case kindNodeStatus.String():
		return new(nodeStatusV1), true
	case kindPressure.String():
		return new(pressureV1), true
	}
	return New(kind)
}

// newOf returns a new event of a kind in a version of the schema.
func newOf(version int, kind string) (Event, bool) {
	if version < Version {
		return firstSchema(kind)
	}
	return New(kind)
}

// upgraded returns the record's event in the current schema.
func (r *Record) upgraded(version int) Event {
	switch e := r.Event.(type) {
	case older:
		return e.upgrade(r)
	case *RuntimeSpan:
		if version < Version && e.Service == "kubeloupe" { // of a CNI plugin: the agent observed it
			r.Observer, r.Precision = ObserverKernel, PrecisionOf(time.Millisecond)
		}
	default:
		if version < Version {
			classifyV1(r.Event)
		}
	}
	return r.Event
}

type waitV1 struct {
	For     WaitKind `json:"for"`
	On      string   `json:"on"`
	Detail  string   `json:"detail"`
	Until   int64    `json:"until_ns"`
	Behind  []Holder `json:"behind"`
	Clipped int      `json:"clipped"`
}

// Kind implements Event.
func (*waitV1) Kind() Kind { return kindWait }

func (o *waitV1) upgrade(r *Record) Event {
	w := &Wait{For: o.For, Note: o.Detail, Until: o.Until, Behind: o.Behind, Clipped: o.Clipped}
	if o.Detail == "another pod pulls this image already" || o.Detail == "of one name only one may run" {
		w.Note = "" // the kind implies it
	}
	w.Target, w.More = targetV1(o.For, o.On)
	switch {
	case w.Target.Kind == TargetContainer && len(w.More) == 0 && o.For == WaitBackoff:
		w.Reason, w.Note = o.Detail, ""
	case w.Target.Kind == TargetContainer && o.For == WaitBackoff: // web: CrashLoopBackOff, db: ErrImagePull
		w.Note = ""
		for i, held := range strings.Split(o.Detail, ", ") {
			switch reason := afterV1(held, ": "); {
			case i == 0:
				w.Reason = reason
			case i <= len(w.More):
				w.More[i-1].Reason = reason
			}
		}
	case o.For == WaitBackoff, o.For == WaitRuntime:
		*w = w.WithCause(o.Detail)
	case o.For == WaitCredentials:
		w.Target.Namespace = o.Detail
	}
	var n int64
	if _, err := fmt.Sscanf(o.Detail, "at most %d s", &n); err == nil && n >= 0 && n < 1<<31 {
		w.Limit, w.Note = time.Duration(n)*time.Second, ""
	}
	if d, err := time.ParseDuration(afterV1(o.Detail, "the next attempt is in ")); err == nil && d > 0 && w.Until == 0 {
		w.Until = r.Start() + int64(d)
		w.Note = ""
	}
	w.slotsV1(o.Detail)
	if w.Target.Kind == TargetPods {
		_, _ = fmt.Sscanf(o.On, "%d pods", &w.Ahead) // it began like this
	}
	return w
}

// slotsV1 parses the figures of a queue.
func (w *Wait) slotsV1(detail string) {
	size, busy, ahead := 0, 0, 0
	if _, err := fmt.Sscanf(detail, "%d of %d slots busy, %d in the queue", &busy, &size, &ahead); err != nil {
		if _, err := fmt.Sscanf(detail, "%d at a time", &size); err != nil {
			return
		}
		busy, ahead = 0, 0
	}
	if size > 0 && busy >= 0 && ahead >= 0 {
		w.Size, w.Busy, w.Ahead, w.Note = size, busy, ahead, ""
	}
}

// afterV1 returns what follows a text's first cut, or "".
func afterV1(s, cut string) string {
	_, rest, _ := strings.Cut(s, cut)
	return rest
}

// wholeV1 are targets by their sentence.
var wholeV1 = map[string]Target{
	"the earlier pod of this name to be gone":            {Kind: TargetEarlierPod},
	"what an earlier life of the pod left to be cleaned": {Kind: TargetLeftovers},
	"the end of a log that the status shows":             {Kind: TargetLog},
	"the next try":                                       {Kind: TargetRetry},
	"the next try after an error":                        {Kind: TargetRetry},
	"the person who steps":                               {Kind: TargetPerson},
	"a place among the pulls":                            {Kind: TargetPulls},
	"registryPullQPS":                                    {Kind: TargetRegistry},
	"volume operations":                                  {Kind: TargetVolumeSlots},
	"the container runtime":                              {Kind: TargetRuntime},
	"container runtime":                                  {Kind: TargetRuntimeSlots},
	"the slot that another step of the pod waits for":    {Kind: TargetStepSlot},
	"the runtime to tell of the latest action":           {Kind: TargetLatestAction},
	"the pod network":                                    {Kind: TargetNetwork},
	"client throttling":                                  {Kind: TargetClient},
	"the API server's Retry-After":                       {Kind: TargetRetryAfter},
	"the API server, to take events":                     {Kind: TargetEvents},
	"events to the API server":                           {Kind: TargetEvents},
	"the API server, to take statuses":                   {Kind: TargetStatuses},
	"writes of other pods' statuses":                     {Kind: TargetStatuses},
	"the API server, to take the pod's status":           {Kind: TargetStatus},
	"the API server, to take mirror pods":                {Kind: TargetMirrorPods},
	"the API server, to watch pods":                      {Kind: TargetWatch},
	"lease of the node":                                  {Kind: TargetLease},
	"registration of the node":                           {Kind: TargetRegistration},
	"status of the node":                                 {Kind: TargetNodeStatus},
}

// targetV1 finds the target of a sentence.
func targetV1(kind WaitKind, on string) (t Target, more []Held) {
	if t, ok := wholeV1[on]; ok {
		return t, nil
	}
	if names, ok := strings.CutPrefix(on, "containers "); ok {
		list := strings.Split(strings.TrimSuffix(names, " to be tried again"), ", ")
		for _, name := range list[1:] {
			more = append(more, Held{Name: name})
		}
		return Target{Kind: TargetContainer, Name: list[0]}, more
	}
	if name, ok := strings.CutPrefix(on, "container "); ok {
		for _, end := range []string{" to end", " to be restarted", " to be tried again"} {
			name = strings.TrimSuffix(name, end)
		}
		return Target{Kind: TargetContainer, Name: name}, nil
	}
	if hook, ok := strings.CutPrefix(on, "the "); ok && strings.Contains(hook, " hook of container ") {
		name, container, _ := strings.Cut(hook, " hook of container ")
		return Target{Kind: TargetHook, Name: name, Container: container}, nil
	}
	if name, container, ok := strings.Cut(on, " probe of "); ok {
		return Target{Kind: TargetProbe, Name: name, Container: container}, nil
	}
	for prefix, kind := range map[string]TargetKind{
		"init container ": TargetInitContainer, "volume ": TargetVolume, "claim of volume ": TargetClaim, "CSI driver ": TargetDriver,
		"RuntimeClass ": TargetRuntimeClass, "certificate for volume ": TargetPodCertificate, "the first list of ": TargetList,
		"signing request ": TargetRequest, "--lock-file ": TargetLockFile,
	} {
		if name, ok := strings.CutPrefix(on, prefix); ok {
			return Target{Kind: kind, Name: name}, nil
		}
	}
	if name, ok := strings.CutPrefix(on, "hook of "); ok {
		return Target{Kind: TargetHook, Container: name}, nil
	}
	if name, ok := strings.CutSuffix(on, " certificate"); ok {
		return Target{Kind: TargetCertificate, Name: name}, nil
	}
	for prefix, kind := range map[string]TargetKind{"configmap ": TargetConfigMap, "secret ": TargetSecret, "token of ": TargetToken} {
		if object, ok := strings.CutPrefix(on, prefix); ok {
			namespace, name, found := strings.Cut(object, "/")
			if !found {
				namespace, name = "", object
			}
			return Target{Kind: kind, Namespace: namespace, Name: name}, nil
		}
	}
	switch {
	case strings.HasSuffix(on, " pods that give way to this one"):
		return Target{Kind: TargetPods}, nil
	case kind == WaitOtherPull:
		return Target{Kind: TargetImage, Name: on}, nil
	case kind == WaitCredentials:
		return Target{Kind: TargetProvider, Name: on}, nil
	case kind == WaitBackoff && strings.Contains(on, "://"):
		return Target{Kind: TargetAddress, Name: on}, nil
	}
	return Target{Kind: TargetOther, Name: on}, nil
}

type statusPatchV1 struct {
	StatusPatch
	Changed []string `json:"changed"`
}

func (o *statusPatchV1) upgrade(*Record) Event {
	o.StatusPatch.Changed, o.StatusPatch.Clipped = changesV1(o.Changed)
	if o.Class = Classify(o.Err); strings.HasSuffix(o.Err, "not found") {
		o.Class = FailGone
	}
	return &o.StatusPatch
}

type nodeStatusV1 struct {
	NodeStatus
	Changed []string `json:"changed"`
}

func (o *nodeStatusV1) upgrade(*Record) Event {
	if len(o.Changed) == 1 {
		o.Refused = afterV1(o.Changed[0], "the API server says: ")
	}
	if o.Refused == "" {
		o.NodeStatus.Changed, o.NodeStatus.Clipped = changesV1(o.Changed)
	}
	return &o.NodeStatus
}

type pressureV1 struct {
	Pressure
	Rule string `json:"rule"`
}

func (o *pressureV1) upgrade(*Record) Event {
	var high, low float64
	for part := range strings.SplitSeq(strings.ReplaceAll(o.Rule, "evict at ", "pressure below "), ", ") {
		if part == "no image GC by usage" {
			o.Thresholds = append(o.Thresholds, Threshold{Kind: ThresholdImageGC, Percent: 100})
		} else if n, _ := fmt.Sscanf(part, "image GC at %f%% → %f%%", &high, &low); n == 2 {
			o.Thresholds = append(o.Thresholds, Threshold{Kind: ThresholdImageGC, Percent: high, DownTo: low})
		} else if mark, ok := strings.CutPrefix(part, "pressure below "); ok {
			t := Threshold{Kind: ThresholdPressure}
			var unit string
			n, _ := fmt.Sscanf(mark, "%g%s free", &high, &unit)
			switch scale, known := unitsV1[unit]; {
			case n > 0 && unit == "%":
				t.Percent = high
			case n > 0 && known:
				t.Bytes = int64(high * scale)
			default:
				continue
			}
			o.Thresholds = append(o.Thresholds, t)
		}
	}
	return &o.Pressure
}

// unitsV1 are the suffixes of quantities.
var unitsV1 = map[string]float64{"free": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

// changesV1 parses changes of conditions. Others remain text.
func changesV1(texts []string) (out []Change, more int) {
	for i, s := range texts {
		if n, err := fmt.Sscanf(s, "%d more", &more); i > 0 && n == 1 && err == nil && more > 0 {
			continue
		}
		out = append(out, changeV1(s))
	}
	return out, max(more, 0)
}

// changeV1 parses "Ready False (ContainersNotReady) → True", "Ready - → True" and "Ready False (KubeletNotReady)".
func changeV1(s string) Change {
	name, rest, _ := strings.Cut(s, " ")
	from, to, both := strings.Cut(rest, " → ")
	if !both {
		from, to = "-", rest
	}
	c := Change{What: ChangeCondition, Name: name}
	var known bool
	if c.From, c.FromReason, known = conditionV1(from); known {
		c.To, c.Reason, known = conditionV1(to)
	}
	if !known || c.From == c.To || strings.HasSuffix(name, ":") {
		return Change{What: ChangeOther, Message: s}
	}
	return c
}

func conditionV1(s string) (status, reason string, ok bool) {
	status, reason, _ = strings.Cut(s, " (")
	switch status {
	case "-":
		return "", "", true
	case "True", "False", "Unknown":
		return status, strings.TrimSuffix(reason, ")"), true
	}
	return "", "", false
}

// classifyV1 sets the fields that are now set when an event is published.
func classifyV1(e Event) {
	switch e := e.(type) {
	case *CRICall:
		e.Class, e.Plugin = Classify(e.Err), PluginIn(e.Err)
	case *Action:
		e.Class = Classify(e.Err)
		if e.Err != "" {
			e.Code = codeV1(string(e.Verb), e.Err)
		}
		if e.Verb == VerbSandbox {
			e.Replaces = faultV1(e.Reason)
		}
		if e.Verb == VerbImage {
			e.Policy = PullPolicy(e.Reason)
		}
	case *Decision:
		e.inputsV1()
	case *ProbeAttempt:
		e.TimedOut = (e.Result == ProbeFailure || e.Result == ProbeError) && timeoutV1.MatchString(e.Output)
	case *ImagePull:
		e.Class = ClassifyPull(e.Err)
	case *Volume:
		e.Class = Classify(e.Err)
	case *CSICall:
		e.Class = Classify(e.Err)
	case *APICall:
		if e.Class = Classify(e.Err); strings.Contains(e.Err, "context canceled") {
			e.Class = FailCanceled
		}
	}
}

// timeoutV1 matches the output of an attempt that timed out.
var timeoutV1 = regexp.MustCompile(`(?i)timed out|timeout|deadline exceeded`)

// faultV1 returns the fault of a sandbox from the reason of its replacement.
func faultV1(reason string) SandboxFault {
	switch {
	case strings.HasSuffix(reason, " is not ready"):
		return SandboxNotReady
	case strings.HasSuffix(reason, " sandboxes are ready, one is right"):
		return SandboxSurplus
	case reason == "the network namespace changed":
		return SandboxNetwork
	case strings.HasSuffix(reason, " has no address"):
		return SandboxNoAddress
	}
	return ""
}

// inputsV1 converts inputs to fields, where there are fields.
func (e *Decision) inputsV1() {
	uid, orphan := strings.CutPrefix(e.Subject, "pod ")
	if orphan = orphan && e.By == ByOrphans; orphan {
		e.Orphan = uid
		if m := volumeV1.FindStringSubmatch(e.Reason); m != nil {
			e.Volume = m[1]
		}
	}
	e.Inputs = slices.DeleteFunc(e.Inputs, func(in KV) bool {
		number, err := strconv.ParseInt(in.V, 10, 64)
		switch {
		case in.K == "retry_at":
			at, err := time.Parse(time.RFC3339Nano, in.V)
			if err == nil && at.After(time.Unix(0, 0)) && at.Before(time.Unix(0, latest)) {
				e.Until = at.UnixNano()
			}
		case in.K == "failures" && err == nil:
			e.Tries = int(number)
		case in.K == "error" && e.By == ByBackoff:
			e.Cause = in.V
		case in.K == "exitCode" && err == nil:
			e.ExitCode = new(int32(number))
		case in.K == "attempt" && e.By == ByRestart && err == nil:
			e.Attempt = int(number)
		case in.K == "threshold" && err == nil:
			e.Limit = number
		case in.K == "reason" && e.By == ByImageGC:
			e.Ground = RemovalGround(in.V)
		case in.K == "path" && orphan:
			e.Path = in.V
		default:
			return false
		}
		return true
	})
}

// volumeV1 finds a volume's name in a path, for example .../pods/UID/volumes/PLUGIN/NAME.
var volumeV1 = regexp.MustCompile(`/pods/[^/]+/volumes/[^/]+/([^/\s]+)`)

// codesV1 are Kubernetes' reasons of failed containers, with which errors of the agent begin.
var codesV1 = regexp.MustCompile(`\b(ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed|` +
	`CreateContainerConfigError|PreCreateHookError|CreateContainerError|PreStartHookError|PostStartHookError|RunContainerError)\b`)

// codeV1 returns Kubernetes' reason for a failed action: the one in its error, otherwise the usual one of its verb.
func codeV1(verb, err string) string {
	if code := codesV1.FindString(err); code != "" {
		return code
	}
	switch verb {
	case "image":
		return "ErrImagePull"
	case "create":
		return "CreateContainerError"
	case "post-start":
		return "PostStartHookError"
	case "start":
		return "RunContainerError"
	}
	return ""
}
