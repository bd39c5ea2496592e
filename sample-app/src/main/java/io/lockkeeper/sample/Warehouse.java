package io.lockkeeper.sample;

import java.util.Map;
import java.util.TreeMap;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.IncorrectResultSizeDataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** The stock and the orders in the database that all instances share. */
@Repository
class Warehouse {

    private final JdbcClient jdbc;

    Warehouse(JdbcClient jdbc, ShopProperties shop) {
        this.jdbc = jdbc;
        openSale(shop.product(), shop.stock());
    }

    /** Reads the stock, and looks at the orders as a shop would: for a limit per customer, say. */
    int remaining(String product) {
        int remaining = jdbc.sql("select remaining from stock where product = ?")
                .param(product)
                .query(Integer.class)
                .optional()
                .orElseThrow(() -> new UnknownProductException(product));
        jdbc.sql("select max(id) from orders where product = ?")
                .param(product)
                .query()
                .singleRow();
        return remaining;
    }

    long insertOrder(String product, String instance) {
        KeyHolder order = new GeneratedKeyHolder();
        jdbc.sql("insert into orders (product, instance) values (?, ?)")
                .params(product, instance)
                .update(order, "id");
        Number id = order.getKey();
        if (id == null) {
            throw new IncorrectResultSizeDataAccessException("No key for the order of " + product, 1);
        }
        return id.longValue();
    }

    void write(String product, int remaining) {
        jdbc.sql("update stock set remaining = ? where product = ?")
                .params(remaining, product)
                .update();
    }

    /** Writes the stock unless a holder with a greater token has written it before. */
    boolean writeFenced(String product, int remaining, long token) {
        return jdbc.sql("update stock set remaining = :remaining, fence = :token"
                                + " where product = :product and fence <= :token")
                        .param("remaining", remaining)
                        .param("token", token)
                        .param("product", product)
                        .update()
                == 1;
    }

    /** Starts the sale again. The fence stays, for tokens never start again either. */
    @Transactional
    void reset(String product, int units) {
        if (jdbc.sql("update stock set units = ?, remaining = ? where product = ?")
                        .params(units, units, product)
                        .update()
                == 0) {
            throw new UnknownProductException(product);
        }
        jdbc.sql("delete from orders where product = ?").param(product).update();
    }

    StockReport report(String product) {
        Map<String, Integer> perInstance = new TreeMap<>();
        jdbc.sql("select instance, count(*) from orders where product = ? group by instance")
                .param(product)
                .query(row -> {
                    perInstance.put(row.getString(1), row.getInt(2));
                });
        int sold = perInstance.values().stream().mapToInt(Integer::intValue).sum();
        return jdbc.sql("select units, remaining from stock where product = ?")
                .param(product)
                .query((row, number) ->
                        new StockReport(product, row.getInt("units"), row.getInt("remaining"), sold, perInstance))
                .optional()
                .orElseThrow(() -> new UnknownProductException(product));
    }

    private void openSale(String product, int units) {
        try {
            jdbc.sql("insert into stock (product, units, remaining) values (?, ?, ?)")
                    .params(product, units, units)
                    .update();
        } catch (DuplicateKeyException openedBefore) {
            // By another instance, or at an earlier start on the same data
        }
    }
}
