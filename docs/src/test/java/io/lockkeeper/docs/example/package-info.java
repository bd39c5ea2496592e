/** What the code of the documentation speaks of. */
package io.lockkeeper.docs.example;
