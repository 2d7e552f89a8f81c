package trace

// APIClient is one of the agent's clients of the API server. Each has its own connections and rate limit.
type APIClient string

// The clients of the API server.
const (
	ClientMain      APIClient = "main"      // all other requests
	ClientEvents    APIClient = "events"    // Kubernetes Events
	ClientHeartbeat APIClient = "heartbeat" // the Node object and its lease
	ClientCerts     APIClient = "certs"     // certificate signing requests
)

// APIVerb is the verb of a request, as in authorization. For a request without a resource, it is the HTTP method in lower case.
type APIVerb string

// The verbs of requests to the API server.
const (
	APIGet              APIVerb = "get"              // one object
	APIList             APIVerb = "list"             // all objects, or the selected ones
	APIWatch            APIVerb = "watch"            // a stream of changes
	APICreate           APIVerb = "create"           // an object is created
	APIUpdate           APIVerb = "update"           // an object is replaced
	APIPatch            APIVerb = "patch"            // parts of an object are changed
	APIDelete           APIVerb = "delete"           // an object is deleted
	APIDeleteCollection APIVerb = "deletecollection" // several objects are deleted
)

// NodeOp is the kind of a write of the Node object.
type NodeOp string

// The writes of the node's object.
const (
	NodeRegister  NodeOp = "register"  // the object is created
	NodeReconcile NodeOp = "reconcile" // the object exists, and is updated
	NodePatch     NodeOp = "patch"     // the object's status is patched
)

// NodeCause is the reason of a write of the Node object.
type NodeCause string

// The causes of writes of the node's object.
const (
	NodeStarts  NodeCause = "start"   // the agent starts
	NodeChanged NodeCause = "change"  // the object changed
	NodePeriod  NodeCause = "period"  // the period has elapsed
	NodeDeleted NodeCause = "deleted" // somebody deleted the object
)

// CertificateUse is the purpose of a certificate.
type CertificateUse string

// The uses of certificates.
const (
	UseClient  CertificateUse = "client"  // it authenticates the node at the API server
	UseServing CertificateUse = "serving" // the HTTPS server uses it
)

// CertificateCause is the reason why a certificate is used from now on.
type CertificateCause string

// The causes of certificates.
const (
	CertificateStart     CertificateCause = "start"     // the agent starts with it
	CertificateBootstrap CertificateCause = "bootstrap" // it was requested with a bootstrap token
	CertificateSigned    CertificateCause = "signed"    // the first requested certificate was signed
	CertificateRenewed   CertificateCause = "renewed"   // it replaces an earlier one
	CertificateChanged   CertificateCause = "changed"   // another program renewed the files
)

// CertificateSource is the origin of a certificate.
type CertificateSource string

// The sources of certificates.
const (
	CertificateCSR        CertificateSource = "csr"         // it was signed on request (CertificateSigningRequest)
	CertificateKubeconfig CertificateSource = "kubeconfig"  // it is in the kubeconfig
	CertificateSelfSigned CertificateSource = "self-signed" // the agent signed it itself
	CertificateFile       CertificateSource = "file"        // configured files
)
