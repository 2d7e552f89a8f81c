package trace

// The kinds, in the order of the table below.
const (
	kindAgent Kind = iota
	kindSource
	kindSourceError
	kindLoop
	kindLog
	kindPressure
	kindDecision
	kindGC
	kindNodeEvent
	kindMilestone
	kindWorker
	kindSync
	kindPlan
	kindAction
	kindWait
	kindGate
	kindPodStatus
	kindCRICall
	kindPLEGRelist
	kindPLEGEvent
	kindPLEGMode
	kindImagePull
	kindImageProgress
	kindVolume
	kindCgroupOp
	kindAPICall
	kindNodeStatus
	kindProbeAttempt
	kindCSICall
	kindVolumeProgress
	kindStatusPatch
	kindServerRequest
	kindRuntimeSpan
	kindUsage
	kindNodeDescribed
	kindRuntimeDescribed
	kindResourcesDescribed
	kindCertificate
	kindClockStepped
	kindOOMKill
	kindEviction
	kindDevicePlugin
	kindDeviceAllocation
	kindAllocation
	kindShutdown
	kindDRAPlugin
	kindResourceClaim
	kindClaimDescribed
	kindSpanExport
	kindResize
	kindCount
)

var kinds = [kindCount]kindOf{
	kindAgent:              describe[Agent]("agent"),
	kindSource:             describe[Source]("source"),
	kindSourceError:        describe[SourceError]("source.error"),
	kindLoop:               describe[Loop]("loop"),
	kindLog:                describe[Log]("log"),
	kindPressure:           describe[Pressure]("pressure"),
	kindDecision:           describe[Decision]("decision"),
	kindGC:                 describe[GC]("gc"),
	kindNodeEvent:          describe[NodeEvent]("node.event"),
	kindMilestone:          describe[Milestone]("pod.milestone"),
	kindWorker:             describe[Worker]("pod.worker"),
	kindSync:               describe[Sync]("pod.sync"),
	kindPlan:               describe[Plan]("pod.plan"),
	kindAction:             describe[Action]("pod.action"),
	kindWait:               describe[Wait]("pod.wait"),
	kindGate:               describe[Gate]("pod.gate"),
	kindPodStatus:          describe[PodStatus]("pod.status"),
	kindCRICall:            describe[CRICall]("cri.call"),
	kindPLEGRelist:         describe[PLEGRelist]("pleg.relist"),
	kindPLEGEvent:          describe[PLEGEvent]("pleg.event"),
	kindPLEGMode:           describe[PLEGMode]("pleg.mode"),
	kindImagePull:          describe[ImagePull]("image.pull"),
	kindImageProgress:      describe[ImageProgress]("image.progress"),
	kindVolume:             describe[Volume]("volume"),
	kindCgroupOp:           describe[CgroupOp]("cgroup"),
	kindAPICall:            describe[APICall]("api.call"),
	kindNodeStatus:         describe[NodeStatus]("node.status"),
	kindProbeAttempt:       describe[ProbeAttempt]("probe.attempt"),
	kindCSICall:            describe[CSICall]("csi.call"),
	kindVolumeProgress:     describe[VolumeProgress]("volume.progress"),
	kindStatusPatch:        describe[StatusPatch]("status.patch"),
	kindServerRequest:      describe[ServerRequest]("server.request"),
	kindRuntimeSpan:        describe[RuntimeSpan]("runtime.span"),
	kindUsage:              describe[Usage]("agent.usage"),
	kindNodeDescribed:      describe[NodeDescribed]("node.described"),
	kindRuntimeDescribed:   describe[RuntimeDescribed]("runtime.described"),
	kindResourcesDescribed: describe[ResourcesDescribed]("resources.described"),
	kindCertificate:        describe[Certificate]("certificate"),
	kindClockStepped:       describe[ClockStepped]("clock.stepped"),
	kindOOMKill:            describe[OOMKill]("oom.kill"),
	kindEviction:           describe[Eviction]("eviction"),
	kindDevicePlugin:       describe[DevicePlugin]("device.plugin"),
	kindDeviceAllocation:   describe[DeviceAllocation]("device.allocation"),
	kindAllocation:         describe[Allocation]("allocation"),
	kindShutdown:           describe[Shutdown]("shutdown"),
	kindDRAPlugin:          describe[DRAPlugin]("dra.plugin"),
	kindResourceClaim:      describe[ResourceClaim]("resource.claim"),
	kindClaimDescribed:     describe[ClaimDescribed]("claim.described"),
	kindSpanExport:         describe[SpanExport]("span.export"),
	kindResize:             describe[Resize]("pod.resize"),
}

// Kind implements Event.
func (*Agent) Kind() Kind { return kindAgent }

// Kind implements Event.
func (*Source) Kind() Kind { return kindSource }

// Kind implements Event.
func (*SourceError) Kind() Kind { return kindSourceError }

// Kind implements Event.
func (*Loop) Kind() Kind { return kindLoop }

// Kind implements Event.
func (*Log) Kind() Kind { return kindLog }

// Kind implements Event.
func (*Pressure) Kind() Kind { return kindPressure }

// Kind implements Event.
func (*Decision) Kind() Kind { return kindDecision }

// Kind implements Event.
func (*GC) Kind() Kind { return kindGC }

// Kind implements Event.
func (*NodeEvent) Kind() Kind { return kindNodeEvent }

// Kind implements Event.
func (*Milestone) Kind() Kind { return kindMilestone }

// Kind implements Event.
func (*Worker) Kind() Kind { return kindWorker }

// Kind implements Event.
func (*Sync) Kind() Kind { return kindSync }

// Kind implements Event.
func (*Plan) Kind() Kind { return kindPlan }

// Kind implements Event.
func (*Action) Kind() Kind { return kindAction }

// Kind implements Event.
func (*Wait) Kind() Kind { return kindWait }

// Kind implements Event.
func (*Gate) Kind() Kind { return kindGate }

// Kind implements Event.
func (*PodStatus) Kind() Kind { return kindPodStatus }

// Kind implements Event.
func (*CRICall) Kind() Kind { return kindCRICall }

// Kind implements Event.
func (*PLEGRelist) Kind() Kind { return kindPLEGRelist }

// Kind implements Event.
func (*PLEGEvent) Kind() Kind { return kindPLEGEvent }

// Kind implements Event.
func (*PLEGMode) Kind() Kind { return kindPLEGMode }

// Kind implements Event.
func (*ImagePull) Kind() Kind { return kindImagePull }

// Kind implements Event.
func (*ImageProgress) Kind() Kind { return kindImageProgress }

// Kind implements Event.
func (*Volume) Kind() Kind { return kindVolume }

// Kind implements Event.
func (*CgroupOp) Kind() Kind { return kindCgroupOp }

// Kind implements Event.
func (*APICall) Kind() Kind { return kindAPICall }

// Kind implements Event.
func (*NodeStatus) Kind() Kind { return kindNodeStatus }

// Kind implements Event.
func (*ProbeAttempt) Kind() Kind { return kindProbeAttempt }

// Kind implements Event.
func (*CSICall) Kind() Kind { return kindCSICall }

// Kind implements Event.
func (*VolumeProgress) Kind() Kind { return kindVolumeProgress }

// Kind implements Event.
func (*StatusPatch) Kind() Kind { return kindStatusPatch }

// Kind implements Event.
func (*ServerRequest) Kind() Kind { return kindServerRequest }

// Kind implements Event.
func (*RuntimeSpan) Kind() Kind { return kindRuntimeSpan }

// Kind implements Event.
func (*Usage) Kind() Kind { return kindUsage }

// Kind implements Event.
func (*NodeDescribed) Kind() Kind { return kindNodeDescribed }

// Kind implements Event.
func (*RuntimeDescribed) Kind() Kind { return kindRuntimeDescribed }

// Kind implements Event.
func (*ResourcesDescribed) Kind() Kind { return kindResourcesDescribed }

// Kind implements Event.
func (*Certificate) Kind() Kind { return kindCertificate }

// Kind implements Event.
func (*ClockStepped) Kind() Kind { return kindClockStepped }

// Kind implements Event.
func (*OOMKill) Kind() Kind { return kindOOMKill }

// Kind implements Event.
func (*Eviction) Kind() Kind { return kindEviction }

// Kind implements Event.
func (*DevicePlugin) Kind() Kind { return kindDevicePlugin }

// Kind implements Event.
func (*DeviceAllocation) Kind() Kind { return kindDeviceAllocation }

// Kind implements Event.
func (*Allocation) Kind() Kind { return kindAllocation }

// Kind implements Event.
func (*Shutdown) Kind() Kind { return kindShutdown }

// Kind implements Event.
func (*DRAPlugin) Kind() Kind { return kindDRAPlugin }

// Kind implements Event.
func (*ResourceClaim) Kind() Kind { return kindResourceClaim }

// Kind implements Event.
func (*ClaimDescribed) Kind() Kind { return kindClaimDescribed }

// Kind implements Event.
func (*SpanExport) Kind() Kind { return kindSpanExport }

// Kind implements Event.
func (*Resize) Kind() Kind { return kindResize }
