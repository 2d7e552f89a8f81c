package trace

// APIClient is which of the agent's clients asks the API server: each has connections and a rate of its own.
type APIClient string

// The clients of the API server.
const (
	ClientMain      APIClient = "main"      // all that is not for the others
	ClientEvents    APIClient = "events"    // Events for people
	ClientHeartbeat APIClient = "heartbeat" // the node's object and its lease
	ClientCerts     APIClient = "certs"     // certificate signing requests
)

// APIVerb is what a request asks for, as authorizers know it. Of a request that is for no resource it is the HTTP method, in small letters.
type APIVerb string

// The verbs of requests to the API server.
const (
	APIGet              APIVerb = "get"              // one object
	APIList             APIVerb = "list"             // all objects, or those that are selected
	APIWatch            APIVerb = "watch"            // changes, as they come
	APICreate           APIVerb = "create"           // an object is made
	APIUpdate           APIVerb = "update"           // an object is replaced
	APIPatch            APIVerb = "patch"            // parts of an object are changed
	APIDelete           APIVerb = "delete"           // an object is deleted
	APIDeleteCollection APIVerb = "deletecollection" // several objects are deleted
)

// NodeOp is how the node's object is written.
type NodeOp string

// The writes of the node's object.
const (
	NodeRegister  NodeOp = "register"  // it is made
	NodeReconcile NodeOp = "reconcile" // it was there already, and is brought up to date
	NodePatch     NodeOp = "patch"     // its status is patched
)

// NodeCause is why the node's object is written.
type NodeCause string

// The causes of writes of the node's object.
const (
	NodeStarts  NodeCause = "start"   // the agent starts
	NodeChanged NodeCause = "change"  // something of it changed
	NodePeriod  NodeCause = "period"  // the period ran out
	NodeDeleted NodeCause = "deleted" // somebody deleted the object
)

// CertificateUse is what a certificate is for.
type CertificateUse string

// The uses of certificates.
const (
	UseClient  CertificateUse = "client"  // the API server knows the node by it
	UseServing CertificateUse = "serving" // the HTTPS server shows it
)

// CertificateCause is why a certificate is in use from now on.
type CertificateCause string

// The causes of certificates.
const (
	CertificateStart     CertificateCause = "start"     // the agent starts with it
	CertificateBootstrap CertificateCause = "bootstrap" // it was requested with a bootstrap token
	CertificateSigned    CertificateCause = "signed"    // the first that was requested is signed
	CertificateRenewed   CertificateCause = "renewed"   // it takes the place of an earlier one
	CertificateChanged   CertificateCause = "changed"   // somebody else renewed the files
)

// CertificateSource is where a certificate is from.
type CertificateSource string

// The sources of certificates.
const (
	CertificateCSR        CertificateSource = "csr"         // it was signed through the API server
	CertificateKubeconfig CertificateSource = "kubeconfig"  // it is the kubeconfig's own
	CertificateSelfSigned CertificateSource = "self-signed" // the agent signed it itself
	CertificateFile       CertificateSource = "file"        // configured files
)
