package dev.lite.session.channel;

import dev.lite.os.SharedMemory;
import dev.lite.session.waiting.PolledWaits;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A process that serves a channel: it replies with the request. Arguments: the path of the memory, slots, window bytes, threads,
 * spins. It ends with the channel.
 */
final class ServerProcess {
    private ServerProcess() {}

    public static void main(String[] arguments) throws InterruptedException {
        ChannelArea area = new ChannelArea(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        SharedMemory memory = SharedMemory.openFile(Path.of(arguments[0]));
        ChannelServer server = new ChannelServer(memory, area, "echo", "node-1", "test");
        int spins = Integer.parseInt(arguments[4]);
        ChannelGroup group = new ChannelGroup(ended -> {}, new PolledWaits("polls", spins), spins);
        if (!group.add(server)) {
            throw new IllegalStateException("the group has no room");
        }
        Thread[] threads = new Thread[Integer.parseInt(arguments[3])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(() -> serve(group, area));
        }
        System.out.println("serving");
        for (Thread thread : threads) {
            thread.join();
        }
        server.close();
        System.out.println("ended");
    }

    private static void serve(ChannelGroup group, ChannelArea area) {
        ReceivedRequest request = new ReceivedRequest(area);
        // One slice for each call would be garbage; requests have one length here.
        var reply = request.bytes().asSlice(0, Long.BYTES);
        try {
            while (!group.isEmpty()) {
                if (group.receive(request, null, System.nanoTime() + TimeUnit.SECONDS.toNanos(30))) {
                    request.channel().reply(request.call(), reply);
                }
            }
        } catch (ChannelEndedException e) {
            // the end
        }
    }
}
