package kubeletlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// rule is what becomes of a message. v is the verbosity from which on it is written, for what the log as a whole tells; do reports whether
// the entry is told of completely: else it is kept as a line, too.
type rule struct {
	v  int
	do func(f *Fold, e *klog.Entry, at int64) bool
}

// table is what is known of messages, by their text. Levels and keys are those of Kubernetes 1.37; see the comments for what differs since
// 1.30. Messages that hold names are in volumes.go, those of kubelets before 1.21 in old.go.
var table = map[string]rule{
	// The syncLoop.
	"SyncLoop ADD":                           {2, (*Fold).added},
	"SyncLoop UPDATE":                        {2, config(trace.LoopUpdate)},
	"SyncLoop RECONCILE":                     {4, config(trace.LoopReconcile)},
	"SyncLoop DELETE":                        {2, (*Fold).deleted},
	"SyncLoop REMOVE":                        {2, (*Fold).removed},
	"SyncLoop (PLEG): event for pod":         {2, (*Fold).pleg},
	"SyncLoop (SYNC) pods":                   {4, config("")},
	"SyncLoop (probe)":                       {1, (*Fold).probed},
	"SyncLoop (housekeeping) end":            {4, (*Fold).housekept},
	"Housekeeping took longer than expected": {0, (*Fold).housekeeping},
	"Housekeeping took longer than 15s":      {0, (*Fold).housekeeping}, // before 1.23
	"Skipping pod synchronization":           {0, (*Fold).skipping},
	"Node became not ready":                  {0, (*Fold).notReady},
	"Starting kubelet main sync loop":        {0, (*Fold).restarted},
	// The pods' workers.
	"Processing pod event":                                           {4, ignored},
	"Processing pod event done":                                      {4, ignored},
	"Notifying pod of pending update":                                {4, ignored},
	"SyncPod enter":                                                  {4, syncBegins(trace.SyncAgain)},
	"SyncPod exit":                                                   {4, (*Fold).syncEnds},
	"SyncTerminatingPod enter":                                       {4, syncBegins(trace.SyncKill)},
	"SyncTerminatingPod exit":                                        {4, (*Fold).syncEnds},
	"SyncTerminatedPod enter":                                        {4, syncBegins(trace.SyncFinish)},
	"SyncTerminatedPod exit":                                         {4, (*Fold).syncEnds},
	"Error syncing pod, skipping":                                    {0, (*Fold).syncFailed},
	"Pod is being synced for the first time":                         {4, worker(trace.WorkerSyncing)},
	"Pod is marked for graceful deletion, begin teardown":            {4, worker(trace.WorkerTerminating)},
	"Pod is being removed by the kubelet, begin teardown":            {4, worker(trace.WorkerTerminating)},
	"Pod is being evicted by the kubelet, begin teardown":            {4, worker(trace.WorkerTerminating)},
	"Pod is orphaned and must be torn down":                          {4, worker(trace.WorkerTerminating)},
	"Pod terminated all containers successfully":                     {4, worker(trace.WorkerTerminated)},
	"Pod is complete and the worker can now stop":                    {4, worker(trace.WorkerNone)},
	"Pod termination removed cgroups":                                {4, (*Fold).cgroupRemoved},
	"Pod removed broadcasted":                                        {0, (*Fold).gone}, // from 1.36 on
	"Pod fully terminated and removed from etcd":                     {3, (*Fold).deletedInAPI},
	"Observed pod startup duration":                                  {0, (*Fold).observed},
	"Mark when the pod was running for the first time":               {3, (*Fold).running},
	"Pod admission denied":                                           {0, (*Fold).denied}, // from 1.31 on
	"Failed to admit pod to node":                                    {0, (*Fold).pressed},
	"Failed to admit pod":                                            {0, (*Fold).denied},
	"Preempting pod to free up resources":                            {2, evicting(forCritical)},
	"Pod evicted successfully":                                       {0, evicted(forCritical)},
	"Eviction manager: pod is evicted successfully":                  {0, evicted(forNode)},
	"Shutdown manager killing pod with gracePeriod":                  {1, evicting(forShutdown)},
	"Shutdown manager finished killing pod":                          {1, evicted(forShutdown)},
	"Evicting pod":                                                   {3, evicting(forNode)},
	"Orphaned pod found, but volumes are not cleaned up":             {3, (*Fold).orphanStays},
	"Pod found, but volumes are still mounted on disk":               {4, (*Fold).leftMounted},
	"Cleaned up orphaned pod volumes dir":                            {0, (*Fold).orphanGone},
	"There were many similar errors. Turn up verbosity to see them.": {0, (*Fold).orphan},
	// Sandboxes.
	"No sandbox for pod can be found. Need to start a new one":       {2, needSandbox("")},
	"No ready sandbox for pod can be found. Need to start a new one": {2, needSandbox(trace.SandboxNotReady)},
	"Sandbox for pod has changed. Need to start a new one":           {2, needSandbox(trace.SandboxNetwork)},
	"Sandbox for pod has no IP address. Need to start a new one":     {2, needSandbox(trace.SandboxNoAddress)},
	"Creating PodSandbox for pod":                                    {4, (*Fold).sandboxBegins},
	"Created PodSandbox for pod":                                     {4, (*Fold).sandboxEnds},
	"Failed to create sandbox for pod":                               {0, (*Fold).sandboxFailed},
	"CreatePodSandbox for pod failed":                                {0, (*Fold).sandboxFailed},
	"Failed to prepare dynamic resources":                            {0, (*Fold).claimsFailed},
	"RunPodSandbox from runtime service failed":                      {0, ignored}, // names no pod; "Failed to create sandbox" follows
	"Stopping PodSandbox for pod, will start new one":                {4, ignored}, // also written at first starts
	"killPodWithSyncResult failed":                                   {0, (*Fold).renewing},
	// Containers and images.
	"Creating container in pod":                      {4, (*Fold).containerBegins},
	"Failed to pull image":                           {0, (*Fold).pullFailed},
	"PullImage from image service failed":            {0, ignored}, // the same, without the kubelet's own words
	"Event occurred":                                 {3, (*Fold).event},
	"Killing container with a grace period":          {2, (*Fold).killBegins},
	"Killing container with a grace period override": {3, (*Fold).killBegins},
	"Container exited normally":                      {3, (*Fold).killEnds},
	"Container termination failed with gracePeriod":  {0, (*Fold).killEnds},
	"Running preStop hook":                           {3, (*Fold).hookBegins},
	"PreStop hook completed":                         {3, (*Fold).hookEnds},
	"PreStop hook not completed in grace period":     {2, (*Fold).hookEnds},
	"Generic (PLEG): container finished":             {2, (*Fold).finished},
	"Back-off restarting failed container":           {3, (*Fold).backoff},
	"Probe failed":                                   {1, probe(trace.ProbeFailure)},
	"Probe errored":                                  {1, probe(trace.ProbeError)},
	"Probe succeeded":                                {3, probe(trace.ProbeSuccess)},
	"Probe succeeded with a warning":                 {3, probe(trace.ProbeSuccess)},
	// Volumes of pods as a whole.
	"Waiting for volumes to attach and mount for pod":         {3, (*Fold).volumesBegin},
	"All volumes are attached and mounted for pod":            {3, (*Fold).volumesEnd},
	"Waiting for volumes to unmount for pod":                  {3, (*Fold).unmountBegins},
	"All volumes are unmounted for pod":                       {3, (*Fold).unmountEnds},
	"Unable to attach or mount volumes for pod; skipping pod": {0, (*Fold).volumesFailed},
	"Error processing volume":                                 {0, (*Fold).unresolved},
	"Failed to add volume to desiredStateOfWorld":             {0, (*Fold).unresolved},
	"Unable to make pod data directories for pod":             {0, (*Fold).dirsFailed},
	// The node.
	"Container runtime network not ready":            {0, (*Fold).networkNotReady},
	"Container runtime sanity check failed":          {0, (*Fold).runtimeFailed},
	"Successfully registered node":                   {0, (*Fold).registered},
	"Eviction manager: must evict pod(s) to reclaim": {0, (*Fold).reclaims},
	"Removing image to free bytes":                   {0, (*Fold).imageRemoved},
	"Waited before sending request":                  {0, (*Fold).throttled}, // from 1.33 on, before as text
	"GenericPLEG: Unable to retrieve pods":           {0, (*Fold).relistFailed},
	"Failed cleaning pods":                           {0, (*Fold).cleaningFailed},
	"GenericPLEG: Relisting":                         {5, (*Fold).relists},
	"Retrieved pods from runtime":                    {4, (*Fold).listed},
	"Error updating node status, will retry":         {0, (*Fold).nodeFailed},
	"Failed to update lease":                         {0, (*Fold).leaseFailed},
	"Failed to ensure lease exists, will retry":      {0, (*Fold).leaseFailed},
	"Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold": {0, (*Fold).imageGC},
	"Image garbage collection succeeded":                      {1, (*Fold).imageGCEnds}, // 1 after a failure, else 4
	"Image garbage collection failed multiple times in a row": {0, (*Fold).imageGCEnds},
	"Eviction manager: attempting to reclaim":                 {0, (*Fold).reclaiming},
	// What a pod waits for, and what is done to it.
	"Pod cannot start yet": {4, (*Fold).cannotStart},
	"Pod is in a terminal phase (success/failed), begin teardown": {4, worker(trace.WorkerTerminating)},
	"Status for pod updated successfully":                         {3, (*Fold).patched},
	"Failed to update status for pod":                             {0, (*Fold).patched},
	"Failed to get status for pod":                                {0, (*Fold).patched}, // the read before it
	"Exec-Probe runProbe":                                         {4, (*Fold).probing},
	"Pod resize successfully allocated":                           {4, resized(trace.VerdictResize)},
	"Pod resize is deferred; will reevaluate later":               {4, resized(trace.VerdictDeferred)},
	"Pod resize is infeasible":                                    {4, resized(trace.VerdictInfeasible)},
	"kubernetes.io/csi: calling NodeStageVolume rpc":              {4, csi("NodeStageVolume")},
	"kubernetes.io/csi: calling NodePublishVolume rpc":            {4, csi("NodePublishVolume")},
}

// ignored tells nothing beside what other lines tell; the line is kept.
func ignored(*Fold, *klog.Entry, int64) bool { return false }
