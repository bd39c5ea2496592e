/* SPDX-License-Identifier: Apache-2.0 */
/** What the code of the documentation speaks of. */
package io.lockkeeper.docs.example;
