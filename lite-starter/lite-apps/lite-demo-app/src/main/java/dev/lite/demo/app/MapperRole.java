package dev.lite.demo.app;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.api.RpcServer;
import java.io.IOException;

/** An application that maps the file stored by another one, and serves word counts on its node. */
abstract class MapperRole extends DemoRole {

    MapperRole(DemoProperties properties, Lite lite) {
        super(properties, lite);
    }

    @Override
    final void work(Results results) throws IOException {
        results.put("node", lite().nodeName());
        try (Control control = Control.await(lite().memory(), properties().deadline());
                LmrHandle file = lite().memory().map(Control.FILE, Permission.READ);
                RpcServer server = calls(file, control).serve()) {
            Progress.print("serving %s at %s".formatted(server.function(), lite().nodeName()));
            meet(Meeting.STORED, file.size());
            whileCounting(results, file, control);
            meet(Meeting.COUNTED, file.size());
            whenCounted(results, control);
            meet(Meeting.DONE, 0);
        }
    }

    /** Called when the file is stored, while its words are being counted. */
    void whileCounting(Results results, LmrHandle file, Control control) throws IOException {}

    /** Called when all words are counted. */
    void whenCounted(Results results, Control control) {}
}
