/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

/** Who has several connections to the same server. */
interface ConnectionOwner {

    /** One has been made, and is about to be used. */
    void connected(CombinedConnection connection, JedisLink link);

    /** The server has said that it is a replica. */
    void demoted();
}
