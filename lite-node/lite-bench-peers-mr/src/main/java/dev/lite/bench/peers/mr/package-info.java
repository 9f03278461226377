/** Word count with systems that need libraries which nothing else of this project uses; each in a process of its own. */
package dev.lite.bench.peers.mr;
