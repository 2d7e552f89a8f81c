package trace

// limit implements limited.
func (e *Agent) limit(l limiter) int {
	return word(l, &e.State) + word(l, &e.Node) + word(l, &e.Version) + word(l, &e.Runtime) + word(l, &e.RuntimeVersion) +
		line(l, &e.Endpoint) + text(l, &e.Reason)
}

// limit implements limited.
func (e *Source) limit(l limiter) int {
	return word(l, &e.Source) + word(l, &e.Op) + word(l, &e.Cause) + line(l, &e.Path)
}

// limit implements limited.
func (e *SourceError) limit(l limiter) int {
	return word(l, &e.Source) + line(l, &e.Path) + line(l, &e.Field) + text(l, &e.Message)
}

// limit implements limited.
func (e *Loop) limit(l limiter) int { return word(l, &e.Case) + word(l, &e.Op) + text(l, &e.Detail) }

// limit implements limited.
func (e *Log) limit(l limiter) int {
	return word(l, &e.Level) + text(l, &e.Message) + list(l, &e.Attrs, &e.Clipped)
}

// limit implements limited.
func (e *Pressure) limit(l limiter) int {
	return word(l, &e.Signal) + list(l, &e.Thresholds, &e.Clipped)
}

// limit implements limited.
func (e *Threshold) limit(l limiter) int { return word(l, &e.Kind) }

// limit implements limited.
func (e *Eviction) limit(l limiter) int {
	return word(l, &e.Signal) + e.Threshold.limit(l) + word(l, &e.Outcome) + list(l, &e.Ranked, &e.Clipped) + line(l, &e.Evicted) + text(l, &e.Err)
}

// limit implements limited.
func (e *Allocation) limit(l limiter) int {
	return word(l, &e.Manager) + word(l, &e.Outcome) + word(l, &e.Source) + word(l, &e.Why) + word(l, &e.Policy) + word(l, &e.Scope) + word(l, &e.Container) +
		line(l, &e.CPUs) + line(l, &e.Nodes) + line(l, &e.Pool) + line(l, &e.Affinity) + list(l, &e.Memory, &e.Clipped) + list(l, &e.Free, &e.Clipped) + list(l, &e.Own, &e.Clipped) +
		list(l, &e.Hints, &e.Clipped) + word(l, &e.Code) + text(l, &e.Err)
}

// limit implements limited.
func (e *NodeCPUs) limit(limiter) int { return 0 }

// limit implements limited.
func (e *NodeMemory) limit(l limiter) int { return word(l, &e.Resource) + line(l, &e.Nodes) }

// limit implements limited.
func (e *ResourceHints) limit(l limiter) int {
	return word(l, &e.Provider) + word(l, &e.Resource) + line(l, &e.Preferred) + line(l, &e.Possible) + text(l, &e.Err)
}

// limit implements limited.
func (e *RankedPod) limit(l limiter) int { return line(l, &e.Pod) + word(l, &e.QoS) }

// limit implements limited.
func (e *DevicePlugin) limit(l limiter) int {
	return word(l, &e.Op) + line(l, &e.Resource) + line(l, &e.Socket) + text(l, &e.Err)
}

// limit implements limited.
func (e *SpanExport) limit(l limiter) int {
	return line(l, &e.Endpoint) + word(l, &e.State) + text(l, &e.Err)
}

// limit implements limited.
func (e *DeviceAllocation) limit(l limiter) int {
	return word(l, &e.Container) + line(l, &e.Resource) + word(l, &e.Outcome) + textList(l, &e.IDs) + line(l, &e.Nodes) + line(l, &e.Affinity) + text(l, &e.Err)
}

// limit implements limited.
func (e *DRAPlugin) limit(l limiter) int {
	return word(l, &e.Op) + line(l, &e.Driver) + line(l, &e.Socket) + word(l, &e.Service) + word(l, &e.Health) + text(l, &e.Err)
}

// limit implements limited.
func (e *ResourceClaim) limit(l limiter) int {
	return word(l, &e.Op) + word(l, &e.Namespace) + word(l, &e.Name) + word(l, &e.UID) + line(l, &e.Driver) + textList(l, &e.Devices) +
		word(l, &e.Method) + word(l, &e.Fault) + word(l, &e.Code) + text(l, &e.Err)
}

// limit implements limited.
func (e *ClaimDescribed) limit(l limiter) int {
	return word(l, &e.Namespace) + word(l, &e.Name) + word(l, &e.UID) + word(l, &e.State) + textList(l, &e.Drivers) + list(l, &e.Devices, &e.Clipped) +
		list(l, &e.Pods, &e.Clipped) + word(l, &e.Fault) + line(l, &e.FaultDriver) + text(l, &e.Err)
}

// limit implements limited.
func (e *ClaimDevice) limit(l limiter) int {
	return line(l, &e.Driver) + line(l, &e.Pool) + line(l, &e.Device) + word(l, &e.Share) + textList(l, &e.Requests) + textList(l, &e.CDI) + word(l, &e.Health) +
		text(l, &e.Message)
}

// limit implements limited.
func (e *ClaimPod) limit(l limiter) int {
	return word(l, &e.Pod.Namespace) + word(l, &e.Pod.Name) + word(l, &e.Pod.UID) + textList(l, &e.Containers)
}

// limit implements limited.
func (e *Decision) limit(l limiter) int {
	return word(l, &e.By) + line(l, &e.Subject) + word(l, &e.Verdict) + text(l, &e.Reason) + word(l, &e.Code) + text(l, &e.Cause) +
		word(l, &e.Ground) + word(l, &e.Signal) + word(l, &e.Measured) + word(l, &e.Orphan) + line(l, &e.Path) + word(l, &e.Volume) + list(l, &e.Inputs, &e.Clipped)
}

// limit implements limited.
func (e *GC) limit(l limiter) int { return word(l, &e.What) + word(l, &e.Cause) + text(l, &e.Err) }

// limit implements limited.
func (e *NodeEvent) limit(l limiter) int {
	return word(l, &e.Type) + word(l, &e.Reason) + text(l, &e.Message) + line(l, &e.Field) + line(l, &e.Object) + word(l, &e.Volume) + word(l, &e.Class)
}

// limit implements limited.
func (e *Usage) limit(l limiter) int { return list(l, &e.Stalls, &e.Clipped) }

// limit implements limited.
func (e *Stall) limit(l limiter) int { return word(l, &e.Resource) }

// limit implements limited.
func (e *APICall) limit(l limiter) int {
	return word(l, &e.Client) + word(l, &e.Verb) + line(l, &e.Resource) + word(l, &e.Namespace) + word(l, &e.Name) + text(l, &e.Err) + word(l, &e.Class)
}

// limit implements limited.
func (e *NodeStatus) limit(l limiter) int {
	return word(l, &e.Op) + word(l, &e.Cause) + list(l, &e.Changed, &e.Clipped) + word(l, &e.Refused) + text(l, &e.Err)
}

// limit implements limited.
func (e *CSICall) limit(l limiter) int {
	return word(l, &e.Driver) + word(l, &e.Method) + line(l, &e.Volume) + word(l, &e.Code) + text(l, &e.Err) + word(l, &e.Class)
}

// limit implements limited.
func (e *VolumeProgress) limit(l limiter) int { return word(l, &e.Op) + line(l, &e.Path) }

// limit implements limited.
func (e *NodeDescribed) limit(l limiter) int {
	return word(l, &e.Node) + textList(l, &e.Changed) + list(l, &e.Resources, &e.Clipped) + list(l, &e.Addresses, &e.Clipped) +
		word(l, &e.OSImage) + word(l, &e.Kernel) + word(l, &e.OS) + word(l, &e.Architecture) + word(l, &e.KubeletVersion) +
		word(l, &e.ContainerRuntime) + word(l, &e.CgroupDriver)
}

// limit implements limited.
func (e *NodeResource) limit(l limiter) int {
	return word(l, &e.Name) + word(l, &e.Capacity) + word(l, &e.Allocatable)
}

// limit implements limited.
func (e *NodeAddress) limit(l limiter) int { return word(l, &e.Type) + word(l, &e.Address) }

// limit implements limited.
func (e *RuntimeDescribed) limit(l limiter) int {
	return textList(l, &e.Changed) + list(l, &e.Handlers, &e.Clipped) + part(l, &e.Features)
}

// limit implements limited.
func (e *RuntimeHandler) limit(l limiter) int { return word(l, &e.Name) }

// limit implements limited.
func (*RuntimeFeatures) limit(limiter) int { return 0 }

// limit implements limited.
func (e *ResourcesDescribed) limit(l limiter) int {
	return word(l, &e.CPUPolicy) + word(l, &e.MemoryPolicy) + word(l, &e.TopologyPolicy) + word(l, &e.Scope) + line(l, &e.Options) +
		list(l, &e.Nodes, &e.Clipped) + line(l, &e.Reserved) + line(l, &e.Pool) + list(l, &e.Memory, &e.Clipped)
}

// limit implements limited.
func (e *NUMANode) limit(l limiter) int { return line(l, &e.CPUs) }

// limit implements limited.
func (e *NUMAMemory) limit(l limiter) int { return word(l, &e.Resource) }

// limit implements limited.
func (e *Certificate) limit(l limiter) int {
	return word(l, &e.Use) + text(l, &e.None) + word(l, &e.Cause) + word(l, &e.Source) + line(l, &e.Path) + word(l, &e.Name) +
		textList(l, &e.Names) + word(l, &e.Issuer) + word(l, &e.Serial)
}

// limit implements limited.
func (*ClockStepped) limit(limiter) int { return 0 }

// limit implements limited.
func (e *Shutdown) limit(l limiter) int {
	return word(l, &e.State) + textList(l, &e.Pods) + textList(l, &e.Overran)
}

// limit implements limited.
func (e *Milestone) limit(l limiter) int {
	return word(l, &e.Name) + word(l, &e.Source) + part(l, &e.Spec) + part(l, &e.Labels)
}

// limit implements limited.
func (e *Labels) limit(l limiter) int { return listOf(l, &e.Items, &e.Clipped, maxLabels) }

// limit implements limited.
func (e *PodSpec) limit(l limiter) int {
	return list(l, &e.Containers, &e.Clipped) + list(l, &e.InitContainers, &e.Clipped) + word(l, &e.RestartPolicy) +
		word(l, &e.QoS) + textList(l, &e.Volumes) + line(l, &e.Finalizers) + listOf(l, &e.Objects, &e.Clipped, tightList)
}

// limit implements limited.
func (e *Object) limit(l limiter) int { return word(l, &e.Kind) + word(l, &e.Name) }

// limit implements limited.
func (e *ContainerSpec) limit(l limiter) int {
	return word(l, &e.Name) + line(l, &e.Image) + list(l, &e.Probes, &e.Clipped)
}

// limit implements limited.
func (e *ProbeSpec) limit(l limiter) int { return word(l, &e.Probe) + word(l, &e.How) }

// limit implements limited.
func (e *Worker) limit(l limiter) int { return word(l, &e.From) + word(l, &e.To) + text(l, &e.Reason) }

// limit implements limited.
func (e *Sync) limit(l limiter) int { return word(l, &e.Why) + line(l, &e.Cause) + text(l, &e.Err) }

// limit implements limited.
func (e *Plan) limit(l limiter) int { return list(l, &e.Steps, &e.Clipped) + text(l, &e.Why) }

// limit implements limited.
func (e *PlanStep) limit(l limiter) int {
	return line(l, &e.ID) + word(l, &e.Verb) + textList(l, &e.Needs) + line(l, &e.Reason)
}

// limit implements limited.
func (e *Action) limit(l limiter) int {
	return line(l, &e.ID) + word(l, &e.Verb) + word(l, &e.Container) + line(l, &e.Target) + line(l, &e.Reason) + text(l, &e.Err) + word(l, &e.Class) + word(l, &e.Code) +
		word(l, &e.Replaces) + word(l, &e.Policy) + part(l, &e.Missing)
}

// limit implements limited.
func (m *Missing) limit(l limiter) int {
	return word(l, &m.Kind) + word(l, &m.Namespace) + word(l, &m.Name) + word(l, &m.Key)
}

// limit implements limited.
func (w *Wait) limit(l limiter) int {
	return word(l, &w.For) + w.Target.limit(l) + w.Request.limit(l) + list(l, &w.More, &w.Clipped) + word(l, &w.Reason) + text(l, &w.Cause) + word(l, &w.Class) + word(l, &w.Plugin) + word(l, &w.Doing) +
		text(l, &w.Note) + list(l, &w.Behind, &w.Clipped)
}

// limit implements limited.
func (e *Held) limit(l limiter) int { return word(l, &e.Name) + word(l, &e.Reason) }

// limit implements limited.
func (t *Target) limit(l limiter) int {
	return word(l, &t.Kind) + word(l, &t.Namespace) + line(l, &t.Name) + word(l, &t.Container)
}

// limit implements limited.
func (e *Holder) limit(l limiter) int { return e.Pod.limit(l) + line(l, &e.Call) }

// limit implements limited.
func (e *Gate) limit(l limiter) int {
	return line(l, &e.Action) + word(l, &e.When) + word(l, &e.Call) + word(l, &e.Verdict) + word(l, &e.Code)
}

// limit implements limited.
func (e *PodStatus) limit(l limiter) int {
	return word(l, &e.Phase) + word(l, &e.Reason) + text(l, &e.Message) + word(l, &e.IP) + word(l, &e.SandboxID) +
		list(l, &e.Containers, &e.Clipped)
}

// limit implements limited.
func (e *ContainerStatus) limit(l limiter) int {
	return word(l, &e.Name) + word(l, &e.State) + word(l, &e.Reason) + text(l, &e.Message) + word(l, &e.ID) + word(l, &e.Class) + part(l, &e.Last)
}

// limit implements limited.
func (e *ContainerExit) limit(l limiter) int {
	return word(l, &e.Reason) + text(l, &e.Message) + word(l, &e.Class) + word(l, &e.ID)
}

// limit implements limited.
func (e *ProbeAttempt) limit(l limiter) int {
	return word(l, &e.Container) + word(l, &e.ContainerID) + word(l, &e.Probe) + word(l, &e.How) + word(l, &e.Result) +
		text(l, &e.Output) + word(l, &e.State) + part(l, &e.Throttle) + word(l, &e.Answer) + word(l, &e.Class)
}

// limit implements limited.
func (*Throttle) limit(limiter) int { return 0 }

// limit implements limited.
func (e *CRICall) limit(l limiter) int {
	return word(l, &e.Class) + word(l, &e.Plugin) + word(l, &e.Method) + word(l, &e.Sandbox) + word(l, &e.Container) + line(l, &e.Image) + word(l, &e.Handler) + word(l, &e.Code) +
		text(l, &e.Err) + e.Request.limit(l) + e.Response.limit(l)
}

// limit implements limited.
func (e *PLEGRelist) limit(l limiter) int { return word(l, &e.Cause) + text(l, &e.Err) }

// limit implements limited.
func (e *PLEGEvent) limit(l limiter) int {
	return word(l, &e.Type) + word(l, &e.Container) + word(l, &e.Name) + word(l, &e.Sandbox) + word(l, &e.From)
}

// limit implements limited.
func (e *OOMKill) limit(l limiter) int {
	return word(l, &e.Container) + word(l, &e.Name) + line(l, &e.Cgroup) + word(l, &e.Process) + word(l, &e.Constraint) + line(l, &e.Limited)
}

// limit implements limited.
func (e *PLEGMode) limit(l limiter) int { return word(l, &e.Mode) + text(l, &e.Reason) }

// limit implements limited.
func (e *Resize) limit(l limiter) int {
	return word(l, &e.Op) + word(l, &e.Container) + word(l, &e.Resource) + word(l, &e.Bound) + word(l, &e.Change) + word(l, &e.Ground) + word(l, &e.End) + word(l, &e.Trigger) +
		word(l, &e.Priority)
}

// limit implements limited.
func (e *ImagePull) limit(l limiter) int {
	return line(l, &e.Image) + line(l, &e.Ref) + text(l, &e.Err) + word(l, &e.Class)
}

// limit implements limited.
func (e *ImageProgress) limit(l limiter) int { return line(l, &e.Image) + word(l, &e.Source) }

// limit implements limited.
func (e *Volume) limit(l limiter) int {
	return word(l, &e.Op) + word(l, &e.Name) + word(l, &e.Plugin) + word(l, &e.Driver) + line(l, &e.Path) + text(l, &e.Err) + word(l, &e.Class) + part(l, &e.Missing)
}

// limit implements limited.
func (e *CgroupOp) limit(l limiter) int { return word(l, &e.Op) + line(l, &e.Path) + text(l, &e.Err) }

// limit implements limited.
func (e *RuntimeSpan) limit(l limiter) int {
	return word(l, &e.Name) + word(l, &e.Service) + text(l, &e.Err) + list(l, &e.Attrs, &e.Clipped)
}

// limit implements limited.
func (e *ServerRequest) limit(l limiter) int {
	return word(l, &e.Server) + word(l, &e.Method) + line(l, &e.Path) + word(l, &e.From) + word(l, &e.User) + word(l, &e.How) +
		word(l, &e.Verdict) + text(l, &e.Reason)
}

// limit implements limited.
func (e *StatusPatch) limit(l limiter) int {
	return word(l, &e.Op) + list(l, &e.Changed, &e.Clipped) + text(l, &e.Patch) + text(l, &e.Err) + word(l, &e.Class)
}

// limit implements limited.
func (e *Change) limit(l limiter) int {
	return word(l, &e.What) + word(l, &e.Name) + word(l, &e.Field) + word(l, &e.From) + word(l, &e.To) + word(l, &e.FromReason) + word(l, &e.Reason) +
		text(l, &e.Message)
}
