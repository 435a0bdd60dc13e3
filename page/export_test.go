package page

// HashOf is what is stored of a secret.
var HashOf = hashOf
